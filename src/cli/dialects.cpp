// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp` and `plumb msprobe`: the command lines of two other tools, for scripts that
// call them. docs/msaccucmp.md and docs/msprobe.md say where they differ.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "dialect/msaccucmp/command.h"
#include "dialect/msaccucmp/output.h"
#include "dialect/msprobe/command.h"

namespace plumb::cli {
namespace {

const dialect::Console& console() {
  static const dialect::Console kConsole{[](std::string_view text) { fmt::print("{}", text); },
                                         print_warning, print_error};
  return kConsole;
}

int status_of(const msaccucmp::Outcome<int>& outcome) {
  if (outcome) return *outcome;
  print_error(outcome.fault().error);
  return static_cast<int>(outcome.fault().code);
}

// Records take several times the room of their files, in small pieces. The system would need a
// quarter of the run to hand out their pages one by one, so it is asked for large ones; and what
// the text of one file took is used again for what comes after it, instead of being given back.
void prepare_heap(std::initializer_list<std::string> files) {
  constexpr uintmax_t kMost = 1 << 29, kGrowth = 6;  // it may be less, and takes no room until used
  constexpr int kNever = 1 << 30, kStep = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kNever);
  ::mallopt(M_TRIM_THRESHOLD, kNever);
  ::mallopt(M_ARENA_MAX, 1);  // this one, for all threads
  uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    if (const auto size = std::filesystem::file_size(file, unknown); !unknown)
      bytes += std::min(size, kMost);
  }
  bytes = std::min(kGrowth * bytes, kMost);
  ::mallopt(M_TOP_PAD, std::max(static_cast<int>(bytes), kStep));
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(::sbrk(0)) + page - 1) / page * page;
  void* volatile piece = std::malloc(kStep);  // more than there is: the heap grows
  std::free(piece);
  ::mallopt(M_TOP_PAD, kStep);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  // Where the system has none, small pages come one by one.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

CommandText text_of_subcommand(const auto& command) {
  CommandText text{std::string(command.name), std::string(command.summary), "", {}, {}, {}};
  for (const msaccucmp::OptionSpec& option : command.options) {
    OptionText entry;
    for (std::string_view name : {option.short_name, option.long_name})
      if (!name.empty()) entry.names.emplace_back(name);
    entry.value = option.value;
    entry.help = option.help;
    text.options.push_back(std::move(entry));
  }
  return text;
}

int report(const Result<msprobe::Written>& written) {
  if (!written) return fail_with(written.error());
  for (const std::string& warning : written->warnings) print_warning(warning);
  fmt::print("{}", text_of(*written, terminal_width(), colour_is_wanted()));
  return kAgreement;
}

int run(const msprobe::GeneralRun& run, RunContext& context) {
  prepare_heap({run.target, run.golden});
  return report(msprobe::compare_general(run, context));
}

int run(const msprobe::TorchairRun& run, RunContext& context) {
  return report(msprobe::compare_torchair(run, context));
}

// msprobe tells how the comparison went on the screen only.
int run(const msaccucmp::NetworkRun& run, RunContext& context) {
  auto outcome = [&]() -> msaccucmp::Outcome<int> {
    if (auto failure = msaccucmp::make_output_directory(run.output)) return *failure;
    return msaccucmp::run_network(run, console(), context);
  }();
  const int status = status_of(outcome);
  if (!outcome) return kTrouble;
  return status == kInterrupted ? kInterrupted : kAgreement;
}

// What was found is no failure there.
int run(const msprobe::OwnCommand& own, RunContext& context) {
  for (const std::string& note : own.notes) print_warning(note);
  if (!own.directory.empty())
    if (auto made = msprobe::make_directory(own.directory); !made) return fail_with(made.error());
  std::vector<std::string> words = own.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto all = commands();
  const auto command = std::find_if(all.begin(), all.end(),
                                    [&](const Command& each) { return each.name == words[0]; });
  const int status = command->run(static_cast<int>(words.size()), argv.data(), context);
  return status == kDifference ? kAgreement : status;
}

int run(const msprobe::MergeRun& run, RunContext&) {
  const auto merged = msprobe::merge_results(run);
  if (!merged) return fail_with(merged.error());
  for (const std::string& warning : merged->warnings) print_warning(warning);
  fmt::print("{}\n{} of {} on {}\n", merged->file.string(),
             plumb::counted(static_cast<size_t>(merged->rows), "row"),
             plumb::counted(merged->ranks.size(), "rank"),
             plumb::counted(static_cast<size_t>(merged->sheets), "sheet"));
  return kAgreement;
}

}  // namespace

int run_msaccucmp(int argc, char** argv, RunContext& context) {
  if (asks_for_description(argc, argv)) {
    CommandText text{"msaccucmp", "The commands of msaccucmp.py.", "", {}, {}, {}};
    for (const msaccucmp::Command* command : msaccucmp::commands())
      text.commands.push_back(text_of_subcommand(*command));
    throw Description(std::move(text));
  }
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (!words.empty()) return status_of(msaccucmp::run(words, console(), context));
  fmt::print(stderr, "{}", msaccucmp::overview());
  return kTrouble;
}

int run_msprobe(int argc, char** argv, RunContext& context) {
  if (asks_for_description(argc, argv)) {
    CommandText text{"msprobe", "The commands of msprobe.", "", {}, {}, {}};
    for (const msprobe::Subcommand& command : msprobe::subcommands())
      text.commands.push_back(text_of_subcommand(command));
    throw Description(std::move(text));
  }
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (std::any_of(words.begin(), words.end(), is_help)) {
    fmt::print("{}", msprobe::help());
    return kAgreement;
  }
  auto request = msprobe::request_from(words);
  if (!request) return fail_with(request.error());
  return std::visit([&](const auto& wanted) { return run(wanted, context); }, *request);
}

}  // namespace plumb::cli
