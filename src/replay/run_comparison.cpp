// SPDX-License-Identifier: Apache-2.0
#include "replay/run_comparison.h"

#include <algorithm>

#include <fmt/format.h>

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
  if (side.is_in_memory) return std::make_shared<graph::Graph>(engine::graph_of(*side.given));
  if (set.convention != "plumb-dump" || set.entries.empty()) return nullptr;
  const std::string& file = set.entries.front().parts.front().file;
  auto graph = graph::load_graph(set.absolute(file.substr(0, file.rfind('/') + 1) + "dump.json"));
  return graph ? std::make_shared<graph::Graph>(std::move(*graph)) : nullptr;
}

Result<SideSpec> side_spec(const RunSide& side, const RunSide& other) {
  auto set = side.is_in_memory ? engine::dump_set_of(*side.given) : dump::open_dump(side.results);
  if (!set) return set.error();
  SideSpec spec;
  if (side.model && is_called_by_tensor(other))
    call_by_tensor(*set, *side.given);
  else
    spec.model = graph_of(side, *set);
  spec.dump = std::make_shared<const dump::DumpSet>(std::move(*set));
  return spec;
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
  if (auto found = find_results(target, golden, true); !found) return found;
  if (auto found = find_results(golden, target, false); !found) return found;
  auto session = open(target, golden, context);
  if (!session) return session.error();
  auto sample = compare_all(*session, context);
  if (!sample) return sample.error();
  if (run.command.empty()) begin(target, golden, *session, *sample);
  const bool has_graphs = session->state().matcher.has_value();
  for (const std::string& output : sample->outputs_not_compared)
    if (is_asked_for(output)) note_missing(output);
  for (result::Row& row : sample->rows) {
    if (step) row.step = step;
    if (has_graphs || options_.layers != "outputs") continue;
    row.is_model_output = row.target && row.golden;
    if (row.verdict == result::Verdict::kNotCompared && !row.is_excused())
      note_missing(row.any_side().operator_name);
  }
  scores.judge_classes(*session, sample->rows);
  run.is_ordered = has_graphs;
  run.bytes += sample->bytes;
  std::move(sample->rows.begin(), sample->rows.end(), std::back_inserter(run.rows));
  return {};
}

// Which directory holds the results of a side, and what its files without a header are.
Result<void> RunComparison::find_results(RunSide& side, const RunSide& other,
                                         bool is_target) const {
  if (side.model) return {};
  auto found = results_in(side.results, is_target, other.model ? fs::path() : other.results,
                          other.given ? other.given->tensors : std::vector<engine::DumpedTensor>(),
                          work_ / (is_target ? "target_bins" : "golden_bins"));
  if (!found) return found.error();
  side.results = *found;
  return {};
}

// What the first sample told decides for all.
Result<Session> RunComparison::open(const RunSide& target, const RunSide& golden,
                                    RunContext& context) const {
  Spec spec;
  auto target_spec = side_spec(target, golden);
  if (!target_spec) return target_spec.error();
  auto golden_spec = side_spec(golden, target);
  if (!golden_spec) return golden_spec.error();
  spec.target = std::move(*target_spec);
  spec.golden = std::move(*golden_spec);
  if (spec.target.model == nullptr || spec.golden.model == nullptr)
    spec.target.model = spec.golden.model = nullptr;  // one alone leads nowhere
  spec.profile = options_.profile.empty() ? run.profile : options_.profile;
  spec.metrics = metric_names();
  spec.command = "run";
  auto session = Session::open(spec, context);
  if (session) return session;
  spec.mode = "dump-vs-dump";  // what `plumb compare` refuses is run if the user wants it
  return Session::open(spec, context);
}

void RunComparison::begin(const RunSide& target, const RunSide& golden, const Session& session,
                          const result::Run& sample) {
  run.command = sample.command;
  run.scenario = sample.scenario;
  run.profile = sample.profile;
  run.metrics = sample.metrics;
  run.target = sample.target;
  run.golden = sample.golden;
  for (const auto& [side, shown] : {std::pair{&target, &run.target}, {&golden, &run.golden}}) {
    shown->path = side->path;
    if (side->model) shown->convention = side->model->engine().version();
  }
  const pair::Matcher* matcher = session.state().matcher_or_null();
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
