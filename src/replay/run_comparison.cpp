// SPDX-License-Identifier: Apache-2.0
#include "replay/run_comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/name_pattern.h"
#include "compare/model_outputs.h"
#include "graph/importers.h"
#include "replay/gt_folder.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

Result<dump::DumpSet> open_results(const RunSide& side, const RunSide& other) {
  auto set = dump::open_dump(side.results);
  if (!set || !side.model) return set;
  // Results of other tools are called by tensor, not by operator.
  std::error_code ignored;
  if (other.model || fs::exists(other.results / "dump.json", ignored) ||
      fs::exists(other.results / "sample_0", ignored))
    return set;
  std::map<std::string, std::string> tensors;  // by file
  for (const engine::DumpedTensor& tensor : side.tensors) tensors[tensor.file] = tensor.tensor;
  for (dump::Entry& entry : set->entries) {
    const auto found = tensors.find(entry.parts.front().file);
    if (found == tensors.end()) continue;
    entry.operator_name = input::file_name_of(found->second);
    entry.slot = {dump::SlotKind::kOutput, 0, {}};
    entry.timestamp = 0;
  }
  set->convention = "plain";
  return set;
}

std::optional<graph::Graph> graph_of(const dump::DumpSet& set) {
  if (set.convention != "plumb-dump" || set.entries.empty()) return std::nullopt;
  const std::string& file = set.entries.front().parts.front().file;
  auto graph = graph::load_graph(set.absolute(file.substr(0, file.rfind('/') + 1) + "dump.json"));
  if (!graph) return std::nullopt;
  return std::move(*graph);
}

result::InputSide input_side(const RunSide& side, const dump::DumpSet& set) {
  result::InputSide input{side.path, set.convention, set.warnings, 0};
  if (side.model) input.convention = side.model->engine().version();
  for (const dump::Skipped& skipped : set.skipped) input.files_left_out += !skipped.error;
  return input;
}

// What costs no extra pass, what users of Pulsar know, and what the limits want.
std::vector<const metrics::Metric*> columns_for(const judge::Rules& rules) {
  std::vector<const metrics::Metric*> columns;
  const std::vector<const metrics::Metric*> judged = rules.metrics();
  for (const metrics::Metric& metric : metrics::metrics())
    if (metric.needs == metrics::Needs::kSums || metric.name == "pearson" ||
        std::find(judged.begin(), judged.end(), &metric) != judged.end())
      columns.push_back(&metric);
  return columns;
}

}  // namespace

Result<void> RunComparison::add(RunSide& target, RunSide& golden, std::optional<int64_t> step,
                                Scores& scores, RunContext& context) {
  if (auto found = find_results(target, golden, true); !found) return found;
  if (auto found = find_results(golden, target, false); !found) return found;
  auto target_set = open_results(target, golden);
  if (!target_set) return target_set.error();
  auto golden_set = open_results(golden, target);
  if (!golden_set) return golden_set.error();
  pair::Graphs graphs{graph_of(*target_set), graph_of(*golden_set), {}};
  if (!graphs.target || !graphs.golden) graphs = {};
  if (!rules_)
    if (auto begun = begin(target, golden, *target_set, *golden_set, graphs); !begun) return begun;
  std::optional<pair::Matcher> matcher = pair::make_matcher(graphs);
  pair::PlanOptions options;
  options.matcher = matcher ? &*matcher : nullptr;
  if (matcher) options.map = pair::output_pairs(*matcher, *graphs.target, *graphs.golden);
  const auto plan = pair::make_plan(*target_set, *golden_set, options);
  const compare::Sides sides{*target_set, *golden_set, nullptr, {}, {}};
  const compare::StreamOptions stream_options{
      *rules_, run.metrics, compare::Passes::for_metrics(run.metrics), false, nullptr};
  std::vector<result::Row> rows =
      compare::stream(compare::Streamer(sides, stream_options), plan, context);
  if (matcher) {
    compare::ModelOutputs outputs(*matcher, &*graphs.golden);
    for (const result::Row& row : rows) outputs.see(row);
    note_missing(outputs.not_compared(
        [&](const std::string& op, const std::string&) { return is_asked_for(op); }));
    for (result::Row& row : rows) outputs.mark(row);
  } else if (options_.layers == "outputs") {
    for (result::Row& row : rows) {
      row.is_model_output = row.target && row.golden;
      if (row.verdict == result::Verdict::kNotCompared && !row.is_excused())
        note_missing({row.any_side().operator_name});
    }
  }
  for (result::Row& row : rows)
    if (step) row.step = step;
  scores.judge_classes(sides, plan, rows);
  run.is_ordered = matcher.has_value();
  for (const result::Row& row : rows) run.bytes += row.bytes;
  std::move(rows.begin(), rows.end(), std::back_inserter(run.rows));
  return {};
}

// Which directory holds the results of a side, and what its files without a header are.
Result<void> RunComparison::find_results(RunSide& side, const RunSide& other,
                                         bool is_target) const {
  if (side.model) return {};
  auto found = results_in(side.results, is_target, other.model ? fs::path() : other.results,
                          other.tensors, work_ / (is_target ? "target_bins" : "golden_bins"));
  if (!found) return found.error();
  side.results = *found;
  return {};
}

// What the first sample tells about all of them.
Result<void> RunComparison::begin(const RunSide& target, const RunSide& golden,
                                  const dump::DumpSet& target_set, const dump::DumpSet& golden_set,
                                  const pair::Graphs& graphs) {
  const auto scenario = pair::find_scenario(target_set, golden_set, graphs, "");
  const std::string_view natural = scenario ? (*scenario)->profile : "standard";
  auto rules =
      judge::load_rules(options_.profile.empty() ? std::string(natural) : options_.profile, "");
  if (!rules) return rules.error();
  rules_ = std::move(*rules);
  run.command = "run";
  run.scenario = scenario ? (*scenario)->name : "dump-vs-dump";
  run.profile = rules_->name;
  run.target = input_side(target, target_set);
  run.golden = input_side(golden, golden_set);
  run.metrics = columns_for(*rules_);
  if (graphs.target)
    for (const graph::Edge& output : graphs.target->outputs)
      if (!is_asked_for(output.producer))
        run.warnings.push_back(fmt::format(
            "{}, an output of the model, does not match --layers '{}' and was not compared",
            output.producer, options_.layers));
  return {};
}

void RunComparison::note_missing(const std::vector<std::string>& outputs) {
  for (const std::string& name : outputs)
    if (std::find(run.outputs_not_compared.begin(), run.outputs_not_compared.end(), name) ==
        run.outputs_not_compared.end())
      run.outputs_not_compared.push_back(name);
}

bool RunComparison::is_asked_for(const std::string& op) const {
  return options_.layers == "outputs" || options_.layers == "all" ||
         operator_matches(options_.layers, op);
}

}  // namespace plumb::replay
