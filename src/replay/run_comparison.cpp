// SPDX-License-Identifier: Apache-2.0
#include "replay/run_comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <malloc.h>

#include "base/name_pattern.h"
#include "compare/session_state.h"
#include "engine/dump_set.h"
#include "graph/importers.h"
#include "replay/gt_folder.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;

// Results of other tools are called by tensor, not by operator.
bool is_called_by_tensor(const RunSide& side) {
  std::error_code ignored;
  return !side.model && !fs::exists(side.results / "dump.json", ignored) &&
         !fs::exists(side.results / "sample_0", ignored);
}

void call_by_tensor(dump::DumpSet& set, const engine::Dump& given) {
  std::map<std::string, std::string> tensors;  // by file
  for (const engine::DumpedTensor& tensor : given.tensors) tensors[tensor.file] = tensor.tensor;
  for (dump::Entry& entry : set.entries) {
    const auto found = tensors.find(entry.parts.front().file);
    if (found == tensors.end()) continue;
    entry.operator_name = input::file_name_of(found->second);
    entry.slot = {dump::SlotKind::kOutput, 0, {}};
    entry.timestamp = 0;
  }
}

std::shared_ptr<graph::Graph> graph_of(const RunSide& side, const dump::DumpSet& set) {
  if (side.given) return std::make_shared<graph::Graph>(engine::graph_of(*side.given));
  if (set.convention != "plumb-dump" || set.entries.empty()) return nullptr;
  const std::string& file = set.entries.front().parts.front().file;
  auto graph = graph::load_graph(set.absolute(file.substr(0, file.rfind('/') + 1) + "dump.json"));
  return graph ? std::make_shared<graph::Graph>(std::move(*graph)) : nullptr;
}

Result<dump::DumpSet> tensors_of(const RunSide& side, const RunSide& other) {
  if (!side.given)
    return open_results(side.results, other.model ? fs::path() : other.results,
                        other.given ? other.given->tensors : std::vector<engine::DumpedTensor>());
  auto set = engine::dump_set_of(*side.given);
  if (set && is_called_by_tensor(other)) call_by_tensor(*set, *side.given);
  return set;
}

// What costs no extra pass, and what users of Pulsar know.
std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const metrics::Metric& metric : metrics::metrics())
    if (metric.is_free()) names.emplace_back(metric.name);
  return names;
}

}  // namespace

Result<void> RunComparison::add(RunSide& target, RunSide& golden, std::optional<int64_t> step,
                                Scores& scores, RunContext& context) {
  for (RunSide* side : {&target, &golden})
    if (!side->model) side->results = results_below(side->results, side == &target);
  if (auto opened = open(target, golden, context); !opened) return opened;
  auto sample = compare_all(*session_, context);
  if (!sample) return sample.error();
  if (run.command.empty()) begin(target, golden, *sample);
  const bool has_graphs = session_->state().matcher.has_value();
  for (const std::string& output : sample->outputs_not_compared)
    if (is_asked_for(output)) note_missing(output);
  for (std::string& warning : sample->warnings)
    if (std::find(run.warnings.begin(), run.warnings.end(), warning) == run.warnings.end())
      run.warnings.push_back(std::move(warning));
  for (result::Row& row : sample->rows) {
    if (step) row.step = step;
    if (has_graphs || options_.layers != "outputs") continue;
    row.is_model_output = row.target && row.golden;
    if (row.verdict == result::Verdict::kNotCompared && !row.is_excused())
      note_missing(row.any_side().operator_name);
  }
  scores.judge_classes(*session_, sample->rows);  // by their places in the plan
  std::erase_if(sample->rows, [](const result::Row& row) {
    return row.reasons == std::vector<std::string>{"filtered"};
  });
  run.is_ordered = has_graphs;
  run.bytes += sample->bytes;
  give_back_memory(sample->bytes);
  std::move(sample->rows.begin(), sample->rows.end(), std::back_inserter(run.rows));
  return {};
}

// Rows stay where tensors were: what they leave free does not fit the tensors of the next sample,
// so memory would grow with the number of samples.
void RunComparison::give_back_memory(int64_t bytes) {
  constexpr int64_t kOften = int64_t{1} << 30;
  if ((compared_bytes_ += bytes) < kOften) return;
  compared_bytes_ = 0;
  ::malloc_trim(0);
}

// What the first sample told decides for all.
Result<void> RunComparison::open(const RunSide& target, const RunSide& golden,
                                 RunContext& context) {
  auto target_set = tensors_of(target, golden);
  if (!target_set) return target_set.error();
  auto golden_set = tensors_of(golden, target);
  if (!golden_set) return golden_set.error();
  const auto is_same = [](const RunSide& side, const std::shared_ptr<const graph::Graph>& graph) {
    return side.given && side.given->graph == graph;
  };
  if (session_ && is_same(target, target_graph_) && is_same(golden, golden_graph_) &&
      session_->exchange_tensors(*target_set, *golden_set))
    return {};
  Spec spec;
  if (!is_called_by_tensor(golden)) spec.target.model = graph_of(target, *target_set);
  if (!is_called_by_tensor(target)) spec.golden.model = graph_of(golden, *golden_set);
  if (spec.target.model == nullptr || spec.golden.model == nullptr)
    spec.target.model = spec.golden.model = nullptr;  // one alone leads nowhere
  spec.target.dump = std::make_shared<const dump::DumpSet>(std::move(*target_set));
  spec.golden.dump = std::make_shared<const dump::DumpSet>(std::move(*golden_set));
  spec.profile = options_.profile.empty() ? run.profile : options_.profile;
  spec.precision = options_.precision;
  spec.metrics = metric_names();
  if (options_.layers != "outputs" && options_.layers != "all")
    spec.selection.ops = {options_.layers};
  spec.command = "run";
  auto session = Session::open(spec, context);
  if (!session) {
    spec.mode = "dump-vs-dump";  // what `plumb compare` refuses is run if the user wants it
    session = Session::open(spec, context);
  }
  if (!session) return session.error();
  session_ = std::move(*session);
  target_graph_ = target.given ? target.given->graph : nullptr;
  golden_graph_ = golden.given ? golden.given->graph : nullptr;
  return {};
}

void RunComparison::begin(const RunSide& target, const RunSide& golden, const result::Run& sample) {
  run.command = sample.command;
  run.scenario = sample.scenario;
  run.profile = sample.profile;
  run.precision = sample.precision;
  run.metrics = sample.metrics;
  run.target = sample.target;
  run.golden = sample.golden;
  for (const auto& [side, shown] : {std::pair{&target, &run.target}, {&golden, &run.golden}}) {
    shown->path = side->path;
    if (side->model) shown->convention = side->model->engine().version();
  }
  const pair::Matcher* matcher = session_->state().matcher_or_null();
  if (matcher == nullptr) return;
  for (const graph::Edge& output : matcher->target().outputs)
    if (!is_asked_for(output.producer))
      run.warnings.push_back(fmt::format(
          "{}, an output of the model, does not match --layers '{}' and was not compared",
          output.producer, options_.layers));
}

void RunComparison::note_missing(const std::string& output) {
  std::vector<std::string>& missing = run.outputs_not_compared;
  if (std::find(missing.begin(), missing.end(), output) == missing.end()) missing.push_back(output);
}

bool RunComparison::is_asked_for(const std::string& op) const {
  return options_.layers == "outputs" || options_.layers == "all" ||
         operator_matches(options_.layers, op);
}

}  // namespace plumb::replay
