// SPDX-License-Identifier: Apache-2.0
//
// `plumb shrink MODEL --check CMD`: the smallest part of a model for which a command still fails,
// to be looked at, or sent to those who can mend what it fails on.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/file_sink.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "engine/model.h"
#include "engine/record_tensors.h"
#include "graph/onnx_external.h"
#include "graph/onnx_wiring.h"
#include "replay/check_command.h"
#include "replay/shrink_replay.h"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;
using graph::OnnxModel;
using graph::OnnxNode;
using replay::Verdict;
using report::printable;
using Clock = std::chrono::steady_clock;

struct Wishes {
  std::vector<std::string> paths;
  std::string check, out, replay, budget, work;
  int timeout_s = 60, expect_status = 0;
  bool values = false, no_engine = false;
  InputOptions inputs;
  CommonOptions common;
};

struct Budget {
  std::optional<int64_t> checks;
  std::optional<std::chrono::seconds> time;
};

void declare(Options& options, Wishes& wishes) {
  options.arguments("MODEL", wishes.paths, "an .onnx file; it is not changed", false);
  options.text("-o", "FILE", wishes.out, "the small model; at any time the best so far");
  options.group("checking");
  options.text("--check", "CMD", wishes.check,
               "a command for the shell, with the model's path for {}.\n"
               "Exit status 0: the fault is gone; 125: cannot tell;\n"
               "any other: the fault is there");
  options.count("--expect-status", "N", wishes.expect_status,
                "only exit status N is the fault, others but 0 tell\nnothing");
  options.count("--timeout", "S", wishes.timeout_s,
                "seconds that a check may take; one that is ended tells\nnothing (default: 60)");
  options.text("--budget", "N|TIME", wishes.budget,
               "end after so many checks, or after 90s, 10m, 2h");
  options.text("--work", "DIR", wishes.work,
               "keep the last candidate and check.log, what the checks\nprinted, here");
  options.group("cutting");
  options.flag("--values", wishes.values,
               "tensors cut open keep the values of a run, as\ninitializers (default: they become "
               "inputs)");
  options.text("--replay", "FILE", wishes.replay,
               "how it was done (default: beside -o, .replay.json);\nwithout MODEL: do it again, "
               "check once");
  options.flag(
      "--no-engine", wishes.no_engine,
      "ONNX Runtime loads and runs nothing, for it might\ncrash: types are those in the file");
  wishes.inputs.declare(options);
  options.group("output");
  options.flag("--quiet", wishes.common.quiet, "only errors on stderr, no progress or warnings");
}

std::optional<int> parse(Wishes& wishes, const std::vector<std::string>& arguments) {
  Options options(
      "shrink", "Cut a model down to the operators that a fault needs.",
      "examples\n"
      "  plumb shrink model.onnx --check './crashes.sh {}' -o small.onnx\n"
      "  plumb shrink model.onnx --check 'atc --framework=5 --model={} --output=/tmp/x' \\\n"
      "      --expect-status 255 --timeout 300 -o small.onnx\n"
      "  plumb shrink --replay small.replay.json\n"
      "exit status: 0 shrunk, or nothing can be left out, 1 the check does not give the same\n"
      "answer each time, or the fault is gone on replay, 2 trouble, 130 interrupted");
  declare(options, wishes);
  std::vector<std::string> words{"shrink"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return options.parse(static_cast<int>(argv.size()), argv.data());
}

Result<Budget> budget_from(const std::string& text) {
  Budget budget;
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

fs::path record_path(const Wishes& wishes) {
  return wishes.replay.empty() ? fs::path(wishes.out).replace_extension(".replay.json")
                               : fs::path(wishes.replay);
}

Result<void> check(const Wishes& wishes) {
  const auto missing = [](const char* what, const char* remedy) {
    return Error{what, "plumb shrink", remedy};
  };
  if (wishes.paths.size() != 1)
    return Error{fmt::format("one model is needed, {} given", wishes.paths.size()), "plumb shrink",
                 "name the .onnx file, or --replay FILE alone"};
  if (wishes.check.empty())
    return missing("nobody said what the fault is",
                   "name a command that fails as long as it is there: --check CMD");
  if (wishes.out.empty())
    return missing("nobody said where the small model goes", "name a file with -o FILE");
  std::vector<fs::path> outputs{wishes.out, record_path(wishes)};
  if (!wishes.work.empty()) outputs.push_back(fs::path(wishes.work) / replay::kCandidate);
  for (const fs::path& written : outputs) {
    std::error_code ignored;
    if (fs::equivalent(wishes.paths[0], written, ignored))
      return Error{"the original would be replaced", written.string(), "name another file"};
  }
  if (record_path(wishes) == fs::path(wishes.out))
    return Error{"the small model and its record have the same name", "-o " + wishes.out,
                 "name another file with --replay"};
  return FileSink::check(wishes.out);
}

// The model that is shrunk, and what is known about it.
struct Subject {
  std::string path;
  MappedFile file;
  std::string inlined;  // with external data inside; empty: there were none
  OnnxModel model;
  replay::FileMark mark;
  std::map<std::string, engine::RecordedTensor, std::less<>> recorded;  // `known` borrows from it
  replay::Known known;
  engine::Engine* engine = nullptr;  // loads the model; nullptr: none does
  bool is_fed = false;               // there is an input that it can be run with

  Bytes bytes() const { return inlined.empty() ? file.bytes() : as_bytes(inlined); }
};

Result<void> open(Subject& subject, const std::string& path) {
  subject.path = path;
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  subject.file = std::move(*file);
  auto model = graph::read_onnx(subject.file.bytes());
  if (!model) return std::move(model.error()).in(path);
  if (model->graph.nodes.empty())
    return Error{"the model has no nodes", path, "name an .onnx file with a graph in it"};
  subject.model = std::move(*model);
  subject.mark = replay::mark_of(path, subject.file.bytes(), subject.model.graph.nodes.size());
  if (subject.model.is_external()) {
    if (auto done = graph::inline_external(subject.model, fs::path(path).parent_path()); !done)
      return std::move(done.error()).in(path);
    subject.inlined = graph::write_onnx(subject.model);
  }
  return {};
}

std::vector<std::string> inner_tensors(const OnnxModel& model) {
  std::vector<std::string> names;
  for (const OnnxNode& node : model.graph.nodes)
    for (std::string_view output : node.outputs)
      if (!output.empty()) names.emplace_back(output);
  return names;
}

// The model's inputs for a run that is about types: batches of any size have one sample.
std::vector<engine::Port> ports_of(const engine::LoadedModel& model, const InputOptions& inputs) {
  std::vector<engine::Port> ports = model.inputs();
  if (inputs.inputs.empty() && inputs.shapes.empty())
    for (engine::Port& port : ports)
      if (!port.shape.empty() && port.shape[0] < 0) port.shape[0] = 1;
  return ports;
}

// Loads the model and runs it once. What that tells beats the file, except about the model's own
// outputs. After an error what was learnt until then stays.
Result<void> learn(Subject& subject, const Wishes& wishes) {
  if (wishes.no_engine) return Error{"no engine is wanted", "--no-engine", "leave it out"};
  auto loaded = engine::LoadedModel::open({subject.path, {}, "onnxruntime"});
  if (!loaded) return loaded.error();
  engine::Model view = loaded->view();
  view.graph = subject.bytes();
  const OnnxModel& model = subject.model;
  const std::vector<std::string> tensors = inner_tensors(model);
  auto types = engine::infer_types(loaded->engine(), view, tensors);
  if (!types) return types.error();
  subject.engine = &loaded->engine();
  for (const graph::OnnxValue& output : model.graph.outputs) types->erase(std::string(output.name));
  subject.known.outside.types = std::move(*types);
  CommonOptions common = wishes.common;
  common.quiet |= !wishes.values;  // random numbers have types as good as any
  auto samples = open_samples(wishes.inputs, ports_of(*loaded, wishes.inputs), common);
  if (!samples) return samples.error();
  auto sample = samples->load(0);
  if (!sample) return sample.error();
  subject.is_fed = true;

  const std::vector<bool> constant = graph::constant_nodes(model);
  std::set<std::string_view> of_constants, of_constant_nodes;
  for (size_t i = 0; i < constant.size(); ++i) {
    const OnnxNode& node = model.graph.nodes[i];
    auto& names = node.type == "Constant" ? of_constant_nodes : of_constants;
    if (constant[i]) names.insert(node.outputs.begin(), node.outputs.end());
  }
  auto recorded = engine::record_tensors(
      loaded->engine(), view, sample->inputs, tensors, [&](const std::string& name) {
        return wishes.values || of_constants.contains(name) || of_constant_nodes.contains(name);
      });
  if (!recorded) return recorded.error();
  subject.recorded = std::move(*recorded);
  for (const auto& [name, tensor] : subject.recorded) {
    if (const auto type = subject.known.outside.types.find(name);
        type != subject.known.outside.types.end())
      type->second = {tensor.dtype, tensor.shape};
    if (!tensor.value) continue;
    auto& values =
        of_constant_nodes.contains(name) ? subject.known.constants : subject.known.outside.values;
    values[name] = {tensor.dtype, tensor.shape, *tensor.value};
  }
  return {};
}

replay::CheckOptions check_options(const Wishes& wishes) {
  replay::CheckOptions options;
  options.command = wishes.check;
  options.timeout_s = wishes.timeout_s;
  if (wishes.expect_status != 0) options.expect_status = wishes.expect_status;
  options.directory = wishes.work;
  return options;
}

std::string told(const replay::Checked& checked, const replay::CheckCommand& command,
                 const Wishes& wishes) {
  if (command.timed_out()) return fmt::format("it did not end within {} s", wishes.timeout_s);
  const std::string words = command.last_words();
  return fmt::format("exit status {}{}", checked.status.value_or(-1),
                     words.empty() ? "" : fmt::format(" ({})", words));
}

// A search for a fault needs a fault. nullopt: the model fails, twice in a row.
std::optional<int> check_original(const Subject& subject, replay::CheckCommand& command,
                                  const Wishes& wishes, const RunContext& context) {
  std::vector<replay::Checked> answers;
  const auto ask = [&] {
    answers.push_back(command.check(as_text(subject.bytes())));
    return answers.back().verdict;
  };
  const Verdict first = ask();
  if (command.trouble()) return fail_with(*command.trouble());
  const Verdict second = context.cancelled ? first : ask();
  if (context.cancelled) return kInterrupted;
  if (first == Verdict::kFails && second == first) return std::nullopt;
  if (first == second) {
    const bool is_unknown = first == Verdict::kUnresolved;
    return fail_with({is_unknown ? "the check cannot tell whether the model itself fails"
                                 : "the check does not fail on the model itself",
                      fmt::format("{}: {}", wishes.check, told(answers.back(), command, wishes)),
                      is_unknown ? "run the command by hand; --timeout gives it more time, and "
                                   "--expect-status must be the status it ends with"
                                 : "the command has to end with a status other than 0 while the "
                                   "fault is there; '! CMD' turns it around"});
  }
  const Verdict third = ask();
  if (context.cancelled) return kInterrupted;
  if (second == Verdict::kFails && third == second) {
    if (!wishes.common.quiet)
      print_warning(
          "the check did not fail on the model at first: it may not always give the same "
          "answer");
    return std::nullopt;
  }
  print_error({"the check does not give the same answer each time",
               fmt::format("{}: on the model itself {}, {}, {}", wishes.check,
                           replay::text_of(first), replay::text_of(second), replay::text_of(third)),
               "make it depend on nothing but the model: fixed inputs, one thread, no timing"});
  return kDifference;
}

Result<void> write_model(const std::string& path, std::string_view onnx, bool synced) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(onnx);
  return sink->commit(synced);
}

std::string value_text(const graph::OnnxValue& value) {
  return fmt::format("{} {} {}", printable(value.name),
                     value.type.dtype ? name_of(*value.type.dtype) : "?",
                     value.type.shape ? to_string(*value.type.shape) : "?");
}

void tell_model(const OnnxModel& model) {
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const OnnxNode& node = model.graph.nodes[i];
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

std::string sizes_text(const replay::FileMark& before, const replay::FileMark& after) {
  return fmt::format("{} -> {}, {} -> {}", before.nodes, counted(after.nodes, "node"),
                     bytes_text(static_cast<double>(before.bytes)),
                     bytes_text(static_cast<double>(after.bytes)));
}

// How the result was made, with what a replay cannot know without a run.
replay::Replay replay_of(const Subject& subject, const Wishes& wishes, replay::Shrunk& shrunk,
                         replay::FileMark result) {
  replay::Replay replay;
  replay.command = wishes.check;
  replay.original = subject.mark;
  replay.result = std::move(result);
  replay.part = shrunk.part;
  replay.is_minimal = shrunk.is_minimal;
  replay.steps = std::move(shrunk.steps);
  for (const OnnxNode& node : shrunk.model.graph.nodes) replay.node_names.push_back(node.name);
  const auto& known = subject.known.outside.types;
  for (const auto* list : {&shrunk.model.graph.inputs, &shrunk.model.graph.outputs})
    for (const graph::OnnxValue& value : *list)
      if (const auto type = known.find(value.name); type != known.end()) replay.types.insert(*type);
  for (const graph::OnnxWeight& weight : shrunk.model.graph.initializers)
    if (subject.recorded.contains(weight.name)) replay.values.emplace_back(weight.name);
  return replay;
}

size_t count_unbuilt(const replay::Shrunk& shrunk) {
  return static_cast<size_t>(
      std::count_if(shrunk.steps.begin(), shrunk.steps.end(),
                    [](const replay::ShrinkStep& step) { return step.nodes == 0; }));
}

std::string_view minimal_text(const replay::Shrunk& shrunk, bool is_reliable,
                              const RunContext& context) {
  if (context.cancelled) return "not known: interrupted";
  if (!is_reliable) return "not known: the check does not give the same answer each time";
  if (!shrunk.is_minimal) return "not known: the budget is used up";
  if (count_unbuilt(shrunk) > 0)
    return "not known: parts were not tried since types of inner tensors are not known";
  for (const OnnxNode& node : shrunk.model.graph.nodes)
    if (node.type == "Constant" && shrunk.model.graph.nodes.size() > 1)
      return "yes: without any one of its nodes, Constants aside, the check does not fail";
  return "yes: without any one of its nodes the check does not fail";
}

// A check that fails for another reason than the fault, a slip in the command for one, ends in a
// model that has nothing to do with it. If it never passed, it may pass without that model's nodes.
bool fails_always(const replay::Shrunk& shrunk, const Subject& subject,
                  replay::CheckCommand& command) {
  size_t failed = 0;
  for (const replay::ShrinkStep& step : shrunk.steps) {
    if (step.checked.verdict == Verdict::kPasses) return false;
    failed += step.checked.verdict == Verdict::kFails;
  }
  if (failed == 0) return false;
  replay::Part others = replay::whole(subject.model);
  std::erase_if(others.nodes, [&](size_t node) {
    return std::binary_search(shrunk.part.nodes.begin(), shrunk.part.nodes.end(), node);
  });
  const auto model = replay::build(subject.model, others, subject.known);
  return !model || command.check(graph::write_onnx(*model)).verdict != Verdict::kPasses;
}

// What cannot be learnt is told; an exit status if it was asked for.
std::optional<int> learn_or_warn(Subject& subject, const Wishes& wishes) {
  const auto learnt = learn(subject, wishes);
  if (learnt) return std::nullopt;
  const bool is_asked = !wishes.inputs.inputs.empty() || !wishes.inputs.shapes.empty();
  if (wishes.values || (subject.engine != nullptr && !subject.is_fed && is_asked))
    return fail_with(learnt.error());
  if (!wishes.common.quiet)
    print_warning(fmt::format(
        "the model was not run, {} tells the types of its tensors; {}: {}",
        subject.engine != nullptr ? "what the engine infers from the file" : "nothing but the file",
        learnt.error().what, learnt.error().where));
  return std::nullopt;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Searches; the best so far is on the disk all the time.
Result<replay::Shrunk> shrink_on_disk(const Subject& subject, replay::CheckCommand& command,
                                      const Wishes& wishes, const Budget& budget,
                                      Clock::time_point start, const RunContext& context) {
  std::optional<Error> trouble;
  size_t shown = subject.mark.nodes;
  replay::ShrinkWishes how;
  how.check = [&](const OnnxModel& candidate) {
    return command.check(graph::write_onnx(candidate));
  };
  how.is_over = [&] {
    return context.cancelled || trouble || command.trouble() ||
           (budget.checks && command.runs() >= *budget.checks) ||
           (budget.time && Clock::now() - start >= *budget.time);
  };
  how.improved = [&](const OnnxModel& best) {
    if (auto written = write_model(wishes.out, graph::write_onnx(best), false); !written)
      trouble = std::move(written.error());
    const size_t nodes = best.graph.nodes.size();
    if (!wishes.common.quiet && nodes < std::exchange(shown, nodes))
      fmt::print(stderr, "{} -> {}, {}, {:.1f} s\n", subject.mark.nodes, counted(nodes, "node"),
                 counted(static_cast<size_t>(command.runs()), "check"), seconds_since(start));
  };
  replay::Shrunk shrunk = replay::shrink(subject.model, subject.known, how);
  if (command.trouble()) return *command.trouble();
  if (trouble) return *trouble;
  return shrunk;
}

int search(const Wishes& wishes, std::vector<std::string> arguments, const RunContext& context) {
  const auto start = Clock::now();
  if (auto checked = check(wishes); !checked) return fail_with(checked.error());
  if (auto checked = FileSink::check(record_path(wishes)); !checked)
    return fail_with(checked.error());
  const auto budget = budget_from(wishes.budget);
  if (!budget) return fail_with(budget.error());
  Subject subject;
  if (auto opened = open(subject, wishes.paths[0]); !opened) return fail_with(opened.error());
  auto command = replay::CheckCommand::open(check_options(wishes), context);
  if (!command) return fail_with(command.error());
  if (auto status = check_original(subject, *command, wishes, context)) return *status;
  if (auto status = learn_or_warn(subject, wishes)) return *status;
  command->validate_with(subject.engine);
  auto shrunk = shrink_on_disk(subject, *command, wishes, *budget, start, context);
  if (!shrunk) return fail_with(shrunk.error());

  const bool is_same = shrunk->part == replay::whole(subject.model);
  const std::string onnx =
      is_same ? std::string(as_text(subject.bytes())) : graph::write_onnx(shrunk->model);
  if (auto written = write_model(wishes.out, onnx, true); !written)
    return fail_with(written.error());
  const bool has_failed_always = !context.cancelled && fails_always(*shrunk, subject, *command);
  const replay::Checked last =
      context.cancelled ? replay::Checked{Verdict::kFails, {}} : command->check(onnx);
  if (command->trouble()) return fail_with(*command->trouble());
  const bool is_reliable = last.verdict == Verdict::kFails;
  const std::string_view minimal = minimal_text(*shrunk, is_reliable, context);
  shrunk->is_minimal &= is_reliable && count_unbuilt(*shrunk) == 0;
  const replay::FileMark result =
      replay::mark_of(wishes.out, as_bytes(onnx), shrunk->model.graph.nodes.size());
  replay::Replay record = replay_of(subject, wishes, *shrunk, result);
  record.arguments = std::move(arguments);
  if (auto written = replay::write_replay(record_path(wishes), record); !written)
    return fail_with(written.error());

  fmt::print("{}: {}\n", printable(wishes.out), sizes_text(subject.mark, result));
  fmt::print("  minimal   {}\n", minimal);
  fmt::print("  checks    {} in {:.1f} s", command->runs(), seconds_since(start));
  if (command->invalid() > 0)
    fmt::print("; {} more were no valid models",
               counted(static_cast<size_t>(command->invalid()), "candidate"));
  fmt::print("\n");
  if (has_failed_always)
    fmt::print("  caution   the check has not passed for any candidate: does it for any model?\n");
  tell_model(shrunk->model);
  fmt::print("  replay    plumb shrink --replay {}\n", printable(record_path(wishes).string()));
  if (context.cancelled) return kInterrupted;
  if (is_reliable) return kAgreement;
  print_error({"the small model failed once, but not again",
               fmt::format("{}: {}", wishes.check, told(last, *command, wishes)),
               "make the check depend on nothing but the model, then shrink again"});
  return kDifference;
}

int replay(const Wishes& given, const RunContext& context) {
  auto record = replay::read_replay(given.replay);
  if (!record) return fail_with(record.error());
  Wishes wishes;
  if (auto status = parse(wishes, record->arguments)) return kTrouble;
  wishes.check = given.check.empty() ? record->command : given.check;
  if (!given.out.empty()) wishes.out = given.out;
  if (!given.work.empty()) wishes.work = given.work;
  wishes.common.quiet = given.common.quiet;
  wishes.paths = {record->original.path};
  std::error_code ignored;
  if (!fs::exists(record->original.path, ignored))  // moved together?
    wishes.paths[0] =
        fs::path(given.replay).parent_path() / fs::path(record->original.path).filename();
  if (auto checked = check(wishes); !checked) return fail_with(checked.error());
  Subject subject;
  if (auto opened = open(subject, wishes.paths[0]); !opened) return fail_with(opened.error());
  if (!subject.mark.is_same_content(record->original) ||
      subject.mark.nodes != record->original.nodes)
    return fail_with({"the model is not the one that was shrunk",
                      fmt::format("{}: {} bytes, CRC-32 {:08x}; the record has {} bytes, {:08x}",
                                  wishes.paths[0], subject.mark.bytes, subject.mark.crc32,
                                  record->original.bytes, record->original.crc32),
                      "put the original back, or shrink this one"});
  if (!record->values.empty())
    if (auto learnt = learn(subject, wishes); !learnt) return fail_with(learnt.error());
  for (auto& [name, type] : record->types) subject.known.outside.types[name] = std::move(type);

  const bool is_same = record->part == replay::whole(subject.model);
  auto model = is_same ? Result<OnnxModel>(subject.model)
                       : replay::build(subject.model, record->part, subject.known);
  if (!model) return fail_with(std::move(model.error()).in(given.replay));
  const std::string onnx =
      is_same ? std::string(as_text(subject.bytes())) : graph::write_onnx(*model);
  if (auto written = write_model(wishes.out, onnx, true); !written)
    return fail_with(written.error());
  const replay::FileMark result =
      replay::mark_of(wishes.out, as_bytes(onnx), model->graph.nodes.size());
  if (!result.is_same_content(record->result))
    print_warning("the small model is not bit for bit the recorded one: values of a run differ");
  auto command = replay::CheckCommand::open(check_options(wishes), context);
  if (!command) return fail_with(command.error());
  // Whoever wrote the record chose the command: it is shown, however quiet the rest.
  fmt::print(stderr, "check: {}\n", printable(wishes.check));
  const replay::Checked checked = command->check(onnx);
  if (command->trouble()) return fail_with(*command->trouble());
  if (context.cancelled) return kInterrupted;
  fmt::print("{}: {}\n", printable(wishes.out), sizes_text(subject.mark, result));
  fmt::print("  check     {}\n", checked.verdict == Verdict::kFails    ? "still fails"
                                 : checked.verdict == Verdict::kPasses ? "the fault is gone"
                                                                       : "cannot tell");
  tell_model(*model);
  switch (checked.verdict) {
    case Verdict::kFails: return kAgreement;
    case Verdict::kPasses: return kDifference;
    default:
      return fail_with({"the check cannot tell whether the small model fails",
                        fmt::format("{}: {}", wishes.check, told(checked, *command, wishes)),
                        "run the command by hand"});
  }
}

}  // namespace

int run_shrink(int argc, char** argv, RunContext& context) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Wishes wishes;
  if (auto status = parse(wishes, arguments)) return *status;
  if (wishes.paths.empty() && !wishes.replay.empty()) return replay(wishes, context);
  return search(wishes, std::move(arguments), context);
}

}  // namespace plumb::cli
