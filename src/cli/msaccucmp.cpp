// SPDX-License-Identifier: Apache-2.0
//
// `plumb msaccucmp`: the command line of msaccucmp.py for scripts that call it, with its options,
// file names, columns and exit status. docs/msaccucmp.md says where it differs.
#include "cli/msaccucmp.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/msaccucmp/subcommand.h"

namespace plumb::cli {

using namespace msaccucmp;

namespace {

const Subcommand* const kSubcommands[] = {&kMsaccucmpCompare, &kMsaccucmpConvert,
                                          &kMsaccucmpOverflow, &kMsaccucmpFileCompare,
                                          &kMsaccucmpAdvisor};

void print_overview(std::FILE* to) {
  fmt::print(to,
             "The commands of msaccucmp.py, for scripts that call it.\n\n"
             "usage: plumb msaccucmp COMMAND [options]\n\ncommands\n");
  for (const Subcommand* each : kSubcommands)
    fmt::print(to, "  {:<18}{}\n", each->name, each->summary);
  fmt::print(to,
             "\n`plumb msaccucmp COMMAND --help` shows the options. A link to plumb that is named\n"
             "msaccucmp runs these commands directly. New scripts better use `plumb compare`.\n");
}

}  // namespace

int report(const Fault& fault) {
  print_error(fault.error);
  return static_cast<int>(fault.code);
}

int refuse(std::string what, std::string where, std::string remedy, Code code) {
  return report({code, {std::move(what), std::move(where), std::move(remedy)}});
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) print_warning(warning);
}

void say_written(const std::filesystem::path& path) { fmt::print("written: {}\n", path.string()); }

int run_msaccucmp(int argc, char** argv, RunContext& context) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (words.empty() || is_help(words[0])) {
    print_overview(words.empty() ? stderr : stdout);
    return words.empty() ? kTrouble : 0;
  }
  for (const Subcommand* each : kSubcommands) {
    if (each->name != words[0]) continue;
    if (std::any_of(words.begin() + 1, words.end(), is_help)) {
      fmt::print(
          "{}\n\nusage: plumb msaccucmp {} [options]\n{}",
          fmt::format("{:c}{}", std::toupper(each->summary[0]), each->summary.substr(1)) + ".",
          each->name, help_of(each->options));
      return 0;
    }
    auto arguments = Arguments::parse(each->options, std::span(words).subspan(1));
    if (arguments) return each->run(*arguments, context);
    Error error = arguments.error();
    error.where = fmt::format("plumb msaccucmp {}: {}", each->name, error.where);
    print_error(error);
    return kTrouble;
  }
  std::vector<std::string> names;
  for (const Subcommand* each : kSubcommands) names.emplace_back(each->name);
  print_error({fmt::format("unknown command '{}'", words[0]), "plumb msaccucmp",
               did_you_mean(words[0], names) + "`plumb msaccucmp --help` lists the commands"});
  return kTrouble;
}

}  // namespace plumb::cli
