// SPDX-License-Identifier: Apache-2.0
//
// `plumb shrink MODEL --check CMD`: the smallest part of a model for which a command still fails,
// to be looked at, or sent to those who can fix what it fails on.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/engine_options.h"
#include "cli/input_options.h"
#include "cli/progress.h"
#include "replay/shrink_job.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;
using replay::Verdict;
using report::printable;

struct ShrinkRequest {
  std::vector<std::string> paths;
  std::string check, out, replay, budget, work;
  int timeout_s = 60, expect_status = 0;
  bool values = false, no_engine = false;
  InputOptions inputs;
  EngineOptions limits;
  CommonOptions common;
};

void declare_shrink_options(Options& options, ShrinkRequest& request) {
  options.arguments("MODEL", request.paths, "an .onnx file; it is not changed", false);
  options.text("-o", "FILE", request.out, "the small model; at any time the best so far");
  options.group("checking");
  options.text("--check", "CMD", request.check,
               "a command for the shell, with the model's path for {}.\n"
               "Exit status 0: the fault is gone; 125: cannot tell;\n"
               "any other: the fault is there");
  options.count("--expect-status", "N", request.expect_status,
                "only exit status N is the fault, others but 0 tell\nnothing");
  options.count("--timeout", "S", request.timeout_s,
                "seconds that a check may take; one that is ended tells\nnothing (default: 60)");
  options.text("--budget", "N|TIME", request.budget,
               "end after so many checks, or after 90s, 10m, 2h");
  options.text("--work", "DIR", request.work,
               "keep the last candidate and check.log, what the checks\nprinted, here");
  options.group("cutting");
  options.flag("--values", request.values,
               "tensors cut open keep the values of a run, as\ninitializers (default: they become "
               "inputs)");
  options.text("--replay", "FILE", request.replay,
               "how it was done (default: beside -o, .replay.json);\nwithout MODEL: do it again, "
               "check once");
  options.flag(
      "--no-engine", request.no_engine,
      "ONNX Runtime loads and runs nothing, for it might\ncrash: types are those in the file");
  request.limits.declare(options);
  request.inputs.declare(options);
  options.group("output");
  options.flag("--quiet", request.common.quiet, "only errors on stderr, no progress or warnings");
}

std::optional<int> parse(ShrinkRequest& request, const std::vector<std::string>& arguments) {
  Options options(
      "shrink", "Cut a model down to the operators that a fault needs.",
      "examples\n"
      "  plumb shrink model.onnx --check './crashes.sh {}' -o small.onnx\n"
      "  plumb shrink model.onnx --check 'atc --framework=5 --model={} --output=/tmp/x' \\\n"
      "      --expect-status 255 --timeout 300 -o small.onnx\n"
      "  plumb shrink --replay small.replay.json\n"
      "exit status: 0 shrunk, or nothing can be left out, 1 the check does not give the same\n"
      "answer each time, or the fault is gone on replay, 2 trouble, 130 interrupted");
  declare_shrink_options(options, request);
  std::vector<std::string> words{"shrink"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return options.parse(static_cast<int>(argv.size()), argv.data());
}

Result<replay::ShrinkBudget> budget_from(const std::string& text) {
  replay::ShrinkBudget budget;
  if (text.empty()) return budget;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const std::string_view unit(read.ptr, static_cast<size_t>(end - read.ptr));
  const int seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (read.ec != std::errc() || number < 1 || number > 1'000'000'000 ||
      (seconds == 0 && !unit.empty()))
    return Error{"a number of checks or a time was expected", "--budget " + text,
                 "for example --budget 200, 90s, 10m or 2h"};
  if (unit.empty())
    budget.checks = number;
  else
    budget.time = std::chrono::seconds(number * seconds);
  return budget;
}

fs::path record_path(const ShrinkRequest& request) {
  return request.replay.empty() ? fs::path(request.out).replace_extension(".replay.json")
                                : fs::path(request.replay);
}

Result<void> check_shrink_request(const ShrinkRequest& request) {
  const auto missing = [](const char* what, const char* remedy) {
    return Error{what, "plumb shrink", remedy};
  };
  if (request.paths.size() != 1)
    return wrong_paths("one model is", request.paths, "plumb shrink",
                       "name the .onnx file, or --replay FILE alone");
  if (request.check.empty())
    return missing("nobody said what the fault is",
                   "name a command that fails as long as it is there: --check CMD");
  if (request.out.empty())
    return missing("nobody said where the small model goes", "name a file with -o FILE");
  std::vector<fs::path> outputs{request.out, record_path(request)};
  if (!request.work.empty()) outputs.push_back(fs::path(request.work) / replay::kCandidate);
  for (const fs::path& written : outputs) {
    std::error_code ignored;
    if (fs::equivalent(request.paths[0], written, ignored))
      return Error{"the original would be replaced", written.string(), "name another file"};
  }
  if (record_path(request) == fs::path(request.out))
    return Error{"the small model and its record have the same name", "-o " + request.out,
                 "name another file with --replay"};
  return FileSink::check(request.out);
}

replay::CheckOptions options_of_check(const ShrinkRequest& request) {
  replay::CheckOptions options;
  options.command = request.check;
  options.timeout_s = request.timeout_s;
  if (request.expect_status != 0) options.expect_status = request.expect_status;
  options.directory = request.work;
  return options;
}

replay::LearnOptions learn_options(const ShrinkRequest& request, const WorkerLimits& limits) {
  return {limits, !request.no_engine, request.values, request.inputs};
}

void print_remarks(const replay::Remarks& remarks, const CommonOptions& common) {
  for (const std::string& warning : remarks.warnings) print_warning(warning);
  if (common.quiet) return;
  for (const std::string& note : remarks.notes) print_warning(note);
}

std::string value_text(const graph::OnnxValue& value) {
  return fmt::format("{} {} {}", printable(value.name),
                     value.type.dtype ? name_of(*value.type.dtype) : "?",
                     value.type.shape ? to_string(*value.type.shape) : "?");
}

void print_small_model(const graph::OnnxModel& model) {
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const graph::OnnxNode& node = model.graph.nodes[i];
    if (i == kMostShown) {
      fmt::print("  ...       and {} more\n", model.graph.nodes.size() - i);
      break;
    }
    fmt::print("  node      {} ({})\n", printable(node.name), printable(node.type));
  }
  for (size_t i = 0; i < std::min(model.graph.inputs.size(), kMostShown); ++i)
    fmt::print("  input     {}\n", value_text(model.graph.inputs[i]));
  for (size_t i = 0; i < std::min(model.graph.outputs.size(), kMostShown); ++i)
    fmt::print("  output    {}\n", value_text(model.graph.outputs[i]));
}

void print_sizes(const replay::FileMark& before, const replay::FileMark& after) {
  fmt::print("{}: {} -> {}, {} -> {}\n", printable(after.path), before.nodes,
             counted(after.nodes, "node"), bytes_text(static_cast<double>(before.bytes)),
             bytes_text(static_cast<double>(after.bytes)));
}

std::string_view minimal_text(replay::Minimal minimal) {
  switch (minimal) {
    case replay::Minimal::kYes: return "yes: without any one of its nodes the check does not fail";
    case replay::Minimal::kButConstants:
      return "yes: without any one of its nodes, Constants aside, the check does not fail";
    case replay::Minimal::kInterrupted: return "not known: interrupted";
    case replay::Minimal::kUnsure:
      return "not known: the check does not give the same answer each time";
    case replay::Minimal::kOutOfBudget: return "not known: the budget is used up";
    case replay::Minimal::kUntried:
      return "not known: parts were not tried since types of inner tensors are not known";
  }
  return "";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_small(const replay::SmallModel& small, const replay::FileMark& before,
                 const replay::CheckCommand& command, const replay::ShrinkJob& job) {
  print_sizes(before, small.mark);
  fmt::print("  minimal   {}\n", minimal_text(small.minimal));
  fmt::print("  checks    {} in {:.1f} s", command.runs(), seconds_since(job.start));
  if (command.invalid() > 0)
    fmt::print("; {} more were no valid models",
               counted(static_cast<size_t>(command.invalid()), "candidate"));
  fmt::print("\n");
  if (small.has_failed_always)
    fmt::print("  caution   the check has not passed for any candidate: does it for any model?\n");
  print_small_model(small.model);
  fmt::print("  replay    plumb shrink --replay {}\n", printable(job.record.string()));
}

// What has to be known before the search. An exit status if it cannot begin.
std::optional<int> prepare(replay::Subject& subject, replay::CheckCommand& command,
                           const ShrinkRequest& request, const RunContext& context) {
  const auto original = replay::check_original(subject, command, context);
  if (!original) return fail_with(original.error());
  if (context.cancelled) return kInterrupted;
  if (original->unsure) {
    print_error(*original->unsure);
    return kDifference;
  }
  if (!original->warning.empty() && !request.common.quiet) print_warning(original->warning);
  replay::Remarks remarks;
  const auto limits = request.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  const auto learnt = replay::learn_if_possible(subject, learn_options(request, *limits), remarks);
  print_remarks(remarks, request.common);
  if (!learnt) return fail_with(learnt.error());
  return std::nullopt;
}

int search(const ShrinkRequest& request, std::vector<std::string> arguments,
           const RunContext& context) {
  replay::ShrinkJob job;
  if (auto checked = check_shrink_request(request); !checked) return fail_with(checked.error());
  job.out = request.out;
  job.record = record_path(request);
  job.arguments = std::move(arguments);
  if (auto checked = FileSink::check(job.record); !checked) return fail_with(checked.error());
  const auto budget = budget_from(request.budget);
  if (!budget) return fail_with(budget.error());
  job.budget = *budget;
  auto subject = replay::open_subject(request.paths[0]);
  if (!subject) return fail_with(subject.error());
  auto command = replay::CheckCommand::open(options_of_check(request), context);
  if (!command) return fail_with(command.error());
  if (auto status = prepare(*subject, *command, request, context)) return *status;
  if (!request.common.quiet)
    job.improved = [&](size_t nodes) {
      fmt::print(stderr, "{} -> {}, {}, {:.1f} s\n", subject->mark.nodes, counted(nodes, "node"),
                 counted(static_cast<size_t>(command->runs()), "check"), seconds_since(job.start));
    };
  const auto small = replay::shrink_file(*subject, *command, job, context);
  if (!small) return fail_with(small.error());
  print_small(*small, subject->mark, *command, job);
  if (context.cancelled) return kInterrupted;
  if (!small->unsure) return kAgreement;
  print_error(*small->unsure);
  return kDifference;
}

// The options of the record, with what the user says now.
std::optional<int> recall(ShrinkRequest& request, const ShrinkRequest& given,
                          const replay::ShrinkRecord& record) {
  if (parse(request, record.arguments)) return kTrouble;
  request.check = given.check.empty() ? record.command : given.check;
  if (!given.out.empty()) request.out = given.out;
  if (!given.work.empty()) request.work = given.work;
  request.common.quiet = given.common.quiet;
  request.paths = {record.original.path};
  std::error_code ignored;
  if (!fs::exists(record.original.path, ignored))  // moved together?
    request.paths[0] =
        fs::path(given.replay).parent_path() / fs::path(record.original.path).filename();
  if (auto checked = check_shrink_request(request); !checked) return fail_with(checked.error());
  return std::nullopt;
}

int replay_record(const ShrinkRequest& given, const RunContext& context) {
  const auto record = replay::read_record(given.replay);
  if (!record) return fail_with(record.error());
  ShrinkRequest request;
  if (auto status = recall(request, given, *record)) return *status;
  auto subject = replay::open_subject(request.paths[0]);
  if (!subject) return fail_with(subject.error());
  const auto limits = request.limits.limits(context);
  if (!limits) return fail_with(limits.error());
  replay::Remarks remarks;
  const auto small =
      replay::remake(*subject, *record, learn_options(request, *limits), request.out, remarks);
  print_remarks(remarks, request.common);
  if (!small) return fail_with(small.error());
  if (!small->is_same)
    print_warning("the small model is not bit for bit the recorded one: values of a run differ");
  auto command = replay::CheckCommand::open(options_of_check(request), context);
  if (!command) return fail_with(command.error());
  // Whoever wrote the record chose the command: it is shown, however quiet the rest.
  fmt::print(stderr, "check: {}\n", printable(request.check));
  const replay::Checked checked = command->check(small->onnx);
  if (command->trouble()) return fail_with(*command->trouble());
  if (context.cancelled) return kInterrupted;
  print_sizes(subject->mark, small->mark);
  fmt::print("  check     {}\n", checked.verdict == Verdict::kFails    ? "still fails"
                                 : checked.verdict == Verdict::kPasses ? "the fault is gone"
                                                                       : "cannot tell");
  print_small_model(small->model);
  if (checked.verdict == Verdict::kFails) return kAgreement;
  if (checked.verdict == Verdict::kPasses) return kDifference;
  return fail_with({"the check cannot tell whether the small model fails", command->told(checked),
                    "run the command by hand"});
}

}  // namespace

int run_shrink(int argc, char** argv, RunContext& context) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  ShrinkRequest request;
  if (auto status = parse(request, arguments)) return *status;
  if (request.paths.empty() && !request.replay.empty()) return replay_record(request, context);
  return search(request, std::move(arguments), context);
}

}  // namespace plumb::cli
