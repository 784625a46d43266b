// SPDX-License-Identifier: Apache-2.0
#include "replay/shrink_job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/file_sink.h"

namespace plumb::replay {
namespace {

using graph::OnnxModel;
using graph::OnnxNode;

Result<void> write_model(const std::filesystem::path& path, std::string_view onnx, bool synced) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(onnx);
  return sink->commit(synced);
}

// A part of the subject as a file; all of it is the file itself.
std::string onnx_of(const Subject& subject, const Part& part, const OnnxModel& model) {
  return part == whole(subject.model) ? std::string(as_text(subject.bytes()))
                                      : graph::write_onnx(model);
}

// Searches; the best so far is on the disk all the time.
Result<Shrunk> search(const Subject& subject, CheckCommand& command, const ShrinkJob& job,
                      const RunContext& context) {
  std::optional<Error> trouble;
  size_t fewest = subject.mark.nodes;
  ShrinkWishes how;
  how.check = [&](const OnnxModel& candidate) {
    return command.check(graph::write_onnx(candidate));
  };
  how.is_over = [&] {
    return context.cancelled || trouble || command.trouble() ||
           (job.budget.checks && command.runs() >= *job.budget.checks) ||
           (job.budget.time && std::chrono::steady_clock::now() - job.start >= *job.budget.time);
  };
  how.improved = [&](const OnnxModel& best) {
    if (auto written = write_model(job.out, graph::write_onnx(best), false); !written)
      trouble = std::move(written.error());
    const size_t nodes = best.graph.nodes.size();
    if (nodes < std::exchange(fewest, nodes) && job.improved) job.improved(nodes);
  };
  Shrunk shrunk = shrink(subject.model, subject.known, how);
  if (command.trouble()) return *command.trouble();
  if (trouble) return *trouble;
  return shrunk;
}

// A check that fails for another reason than the fault, a slip in the command for one, ends in a
// model that has nothing to do with it. If it never passed, it may pass without that model's nodes.
bool fails_always(const Shrunk& shrunk, const Subject& subject, CheckCommand& command) {
  size_t failed = 0;
  for (const ShrinkStep& step : shrunk.steps) {
    if (step.checked.verdict == Verdict::kPasses) return false;
    failed += step.checked.verdict == Verdict::kFails;
  }
  if (failed == 0) return false;
  Part others = whole(subject.model);
  std::erase_if(others.nodes, [&](size_t node) {
    return std::binary_search(shrunk.part.nodes.begin(), shrunk.part.nodes.end(), node);
  });
  const auto model = build(subject.model, others, subject.known);
  return !model || command.check(graph::write_onnx(*model)).verdict != Verdict::kPasses;
}

Minimal minimal_of(const Shrunk& shrunk, bool is_sure, const RunContext& context) {
  if (context.cancelled) return Minimal::kInterrupted;
  if (!is_sure) return Minimal::kUnsure;
  if (!shrunk.is_minimal) return Minimal::kOutOfBudget;
  for (const ShrinkStep& step : shrunk.steps)
    if (step.nodes == 0) return Minimal::kUntried;
  for (const OnnxNode& node : shrunk.model.graph.nodes)
    if (node.type == "Constant" && shrunk.model.graph.nodes.size() > 1)
      return Minimal::kButConstants;
  return Minimal::kYes;
}

// How the result was made, with what a replay cannot know without a run.
ShrinkRecord record_of(const Subject& subject, Shrunk& shrunk, const SmallModel& small) {
  ShrinkRecord record;
  record.original = subject.mark;
  record.result = small.mark;
  record.part = shrunk.part;
  record.is_minimal = small.minimal == Minimal::kYes || small.minimal == Minimal::kButConstants;
  record.steps = std::move(shrunk.steps);
  for (const OnnxNode& node : shrunk.model.graph.nodes) record.node_names.push_back(node.name);
  const auto& known = subject.known.outside.types;
  for (const auto* list : {&shrunk.model.graph.inputs, &shrunk.model.graph.outputs})
    for (const graph::OnnxValue& value : *list)
      if (const auto type = known.find(value.name); type != known.end()) record.types.insert(*type);
  for (const graph::OnnxWeight& weight : shrunk.model.graph.initializers)
    if (subject.recorded.contains(weight.name)) record.values.emplace_back(weight.name);
  return record;
}

}  // namespace

Result<OriginalCheck> check_original(const Subject& subject, CheckCommand& command,
                                     const RunContext& context) {
  Checked last;
  const auto ask = [&] {
    last = command.check(as_text(subject.bytes()));
    return last.verdict;
  };
  const Verdict first = ask();
  if (command.trouble()) return *command.trouble();
  const Verdict second = context.cancelled ? first : ask();
  if (context.cancelled || (first == Verdict::kFails && second == first)) return OriginalCheck{};
  if (first == second) {
    const bool is_unknown = first == Verdict::kUnresolved;
    return Error{is_unknown ? "the check cannot tell whether the model itself fails"
                            : "the check does not fail on the model itself",
                 command.told(last),
                 is_unknown ? "run the command by hand; --timeout gives it more time, and "
                              "--expect-status must be the status it ends with"
                            : "the command has to end with a status other than 0 while the "
                              "fault is there; '! CMD' turns it around"};
  }
  const Verdict third = ask();
  if (context.cancelled) return OriginalCheck{};
  if (second == Verdict::kFails && third == second)
    return OriginalCheck{
        "the check did not fail on the model at first: it may not always give the same answer", {}};
  return OriginalCheck{
      {},
      Error{"the check does not give the same answer each time",
            fmt::format("{}: on the model itself {}, {}, {}", command.options().command,
                        text_of(first), text_of(second), text_of(third)),
            "make it depend on nothing but the model: fixed inputs, one thread, no timing"}};
}

Result<SmallModel> shrink_file(const Subject& subject, CheckCommand& command, const ShrinkJob& job,
                               const RunContext& context) {
  command.validate_with(subject.engine);
  auto shrunk = search(subject, command, job, context);
  if (!shrunk) return shrunk.error();
  const std::string onnx = onnx_of(subject, shrunk->part, shrunk->model);
  if (auto written = write_model(job.out, onnx, true); !written) return written.error();
  SmallModel small;
  small.mark = mark_of(job.out, as_bytes(onnx), shrunk->model.graph.nodes.size());
  small.has_failed_always = !context.cancelled && fails_always(*shrunk, subject, command);
  const Checked last = context.cancelled ? Checked{Verdict::kFails, {}} : command.check(onnx);
  if (command.trouble()) return *command.trouble();
  const bool is_sure = last.verdict == Verdict::kFails;
  if (!is_sure)
    small.unsure = Error{"the small model failed once, but not again", command.told(last),
                         "make the check depend on nothing but the model, then shrink again"};
  small.minimal = minimal_of(*shrunk, is_sure, context);
  ShrinkRecord record = record_of(subject, *shrunk, small);
  record.command = command.options().command;
  record.arguments = job.arguments;
  if (auto written = write_record(job.record, record); !written) return written.error();
  small.model = std::move(shrunk->model);
  return small;
}

Result<RemadeModel> remake(Subject& subject, const ShrinkRecord& record,
                           const LearnOptions& options, const std::filesystem::path& out,
                           Remarks& remarks) {
  if (!subject.mark.is_same_content(record.original) || subject.mark.nodes != record.original.nodes)
    return Error{"the model is not the one that was shrunk",
                 fmt::format("{}: {} bytes, CRC-32 {:08x}; the record has {} bytes, {:08x}",
                             subject.path, subject.mark.bytes, subject.mark.crc32,
                             record.original.bytes, record.original.crc32),
                 "put the original back, or shrink this one"};
  if (!record.values.empty())
    if (auto learnt = learn(subject, options, remarks); !learnt) return learnt.error();
  for (const auto& [name, type] : record.types) subject.known.outside.types[name] = type;
  auto model = record.part == whole(subject.model)
                   ? Result<OnnxModel>(subject.model)
                   : build(subject.model, record.part, subject.known);
  if (!model) return std::move(model.error()).in(record.path);
  RemadeModel remade{std::move(*model), {}, {}, true};
  remade.onnx = onnx_of(subject, record.part, remade.model);
  if (auto written = write_model(out, remade.onnx, true); !written) return written.error();
  remade.mark = mark_of(out, as_bytes(remade.onnx), remade.model.graph.nodes.size());
  remade.is_same = remade.mark.is_same_content(record.result);
  return remade;
}

}  // namespace plumb::replay
