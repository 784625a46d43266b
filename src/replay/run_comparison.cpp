// SPDX-License-Identifier: Apache-2.0
#include "replay/run_comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include "base/name_pattern.h"
#include "base/nearest.h"
#include "compare/session_state.h"
#include "diagnose/explain.h"
#include "engine/dump_set.h"
#include "graph/importers.h"
#include "pair/matcher.h"
#include "replay/gt_folder.h"
#include "replay/own_errors.h"
#include "result/details.h"

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
    const auto found = tensors.find(entry.parts.front().file.str());
    if (found == tensors.end()) continue;
    entry.operator_name = input::file_name_of(found->second);
    entry.slot = {dump::SlotKind::kOutput, 0, {}};
    entry.timestamp = 0;
  }
}

std::shared_ptr<graph::Graph> graph_of(const RunSide& side, const dump::DumpSet& set) {
  if (side.given) return std::make_shared<graph::Graph>(engine::graph_of(*side.given));
  const auto file = set.own_graph();
  if (!file) return nullptr;
  auto graph = graph::load_graph(*file);
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

// The files that a board wrote, or another tool.
bool is_board(const RunSide& side) {
  return !side.model && side.gt.empty() && is_called_by_tensor(side);
}

std::string gt_text(const std::string& results, bool is_exact) {
  const std::string_view whose = results == "joint"  ? ", the simulator's outputs"
                                 : results == "onnx" ? ", the original model's outputs"
                                                     : "";
  return fmt::format("{}/ of the gt folder{}{}", results, whose, is_exact ? ", bit for bit" : "");
}

// The folder joint/ of a gt folder, named itself.
bool is_joint_folder(const RunSide& side) {
  if (side.model) return false;
  fs::path folder = fs::absolute(side.results).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  return folder.filename() == "joint" && is_gt_folder(folder.parent_path());
}

// In words: what is checked and what it is checked against look exchanged.
std::optional<std::string> exchange_doubt(const RunSide& target, const RunSide& golden) {
  if (!target.gt.empty() && is_board(golden))
    return fmt::format(
        "a gt folder is checked against the files of a board: the side that is checked comes "
        "first, `plumb run {} {}`",
        golden.path, target.path);
  if (!target.given || !golden.given) return std::nullopt;
  if (!pair::is_quantized(*golden.given->graph) || pair::is_quantized(*target.given->graph))
    return std::nullopt;
  return fmt::format(
      "golden, {}, is quantized and the target is not: the sides look exchanged, the model that is "
      "checked comes first: `plumb run {} {}`",
      golden.path, golden.path, target.path);
}

// A name that no operator has may be a slip in one of the words that --layers takes.
Error about_layers(Error error, const std::string& layers) {
  const std::string option = "--op " + layers;
  if (!error.where.starts_with(option + ":")) return error;
  error.where = "--layers " + layers + error.where.substr(option.size());
  static const std::vector<std::string> kWords{"outputs", "all"};
  if (const std::string meant = did_you_mean(layers, kWords); !meant.empty())
    error.remedy = meant + "--op PATTERN chooses layers by name";
  return error;
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
  if (auto chosen = choose_results(target, golden); !chosen) return chosen;
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
  for (result::Row& row : sample->rows.all()) {
    if (step) row.step = step;
    if (network_) network_->mark(row);
    if (has_graphs || options_.layers != "outputs") continue;
    row.is_model_output = row.target && row.golden;
    if (row.verdict == result::Verdict::kNotCompared && !row.is_excused())
      note_missing(row.any_side().operator_name);
  }
  scores.judge_classes(*session_, sample->rows.all());  // by their places in the plan
  const auto is_hidden = [](const result::Row& row) {
    return row.reasons == std::vector<std::string>{"filtered"};
  };
  const auto row_of = [&](RowId id) -> result::Row& {
    return sample->rows.all()[static_cast<size_t>(id)];
  };
  std::vector<RowId> shown;
  for (RowId id = 0; id < std::ssize(sample->rows.all()); ++id)
    if (!is_hidden(row_of(id))) shown.push_back(id);
  if (network_)  // in the model's order; what the model does not know comes last
    std::stable_sort(shown.begin(), shown.end(), [&](RowId a, RowId b) {
      return static_cast<uint64_t>(row_of(a).node) < static_cast<uint64_t>(row_of(b).node);
    });
  run.is_ordered = has_graphs || network_;
  run.bytes += sample->bytes;
  give_back_memory(sample->bytes);
  ids_.assign(run.rows.size(), -1);
  ids_.insert(ids_.end(), shown.begin(), shown.end());
  for (const RowId id : shown) run.rows.push_back(std::move(row_of(id)));
  if (run.rows.size() - limited_rows_ >= result::kMostFullDetails) limit_details();
  return {};
}

void RunComparison::limit_details() {
  if (options_.details) result::limit_details(run);
  limited_rows_ = run.rows.size();
}

void RunComparison::explain(const RunSide& target, const RunSide& golden, RunContext& context) {
  limit_details();
  if (!session_ || context.cancelled || ids_.size() != run.rows.size()) return;
  if (golden.model && !golden.model->is_caffe() && options_.layers != "outputs") {
    const engine::Model view = golden.model->view();
    auto model = graph::read_onnx(view.graph);
    // What cannot be replayed is estimated.
    if (model)
      if (auto done = measure_own_errors({*model, view, golden.model->engine()}, *session_, ids_,
                                         run, context);
          !done)
        run.warnings.push_back(
            fmt::format("the operators' own errors are estimated: {}", done.error().what));
  }
  // What the models are told is evidence, too, as far as it can be read.
  std::optional<diagnose::ModelDifferences> models;
  if (target.model && golden.model && diagnose::differs(run))
    if (auto loaded = diagnose::ModelDifferences::load(
            {target.path, options_.target.weights, golden.path, options_.golden.weights}))
      models = std::move(*loaded);
  diagnose::explain(run, diagnose::Tensors(&*session_, ids_), context,
                    {models ? &*models : nullptr, options_.invocation});
}

Result<void> RunComparison::choose_results(RunSide& target, RunSide& golden) {
  for (RunSide* side : {&target, &golden})
    side->gt = !side->model && is_gt_folder(side->results) ? "onnx" : "";
  const auto choose = [&](RunSide& side, std::string usual, bool may_be_asked) -> Result<void> {
    const bool is_asked = may_be_asked && !options_.gt.empty();
    auto found = results_below(side.results, is_asked ? options_.gt : usual, is_asked);
    if (!found) return found.error();
    side.gt = found->filename().string();
    side.results = std::move(*found);
    return {};
  };
  std::error_code ignored;
  const bool is_own = !golden.gt.empty() && !target.model &&
                      fs::equivalent(target.results, golden.results / "joint", ignored);
  const bool has_board = is_board(target) || is_board(golden);
  const bool both = !target.gt.empty() && !golden.gt.empty();
  if (!options_.gt.empty() && target.gt.empty() && golden.gt.empty())
    return Error{"there is no gt folder", "--gt " + options_.gt,
                 "a gt folder has input/ and onnx/ or joint/ in it; leave out --gt"};
  if (!target.gt.empty())
    if (auto done = choose(target, "joint", !both); !done) return done;
  if (!golden.gt.empty())
    if (auto done = choose(golden, has_board && !is_own ? "joint" : "onnx", true); !done)
      return done;
  if (golden.gt.empty() && is_board(target) && is_joint_folder(golden) &&
      !fs::equivalent(target.results, golden.results, ignored))
    golden.gt = "joint";
  is_board_against_simulator_ = has_board && (golden.gt.empty() ? target.gt : golden.gt) == "joint";
  return {};
}

void RunComparison::add_unreached(int64_t step) {
  if (run.rows.empty()) return;
  const auto first = run.rows.front().step;
  const size_t count = static_cast<size_t>(std::count_if(
      run.rows.begin(), run.rows.end(), [&](const result::Row& row) { return row.step == first; }));
  for (size_t i = 0; i < count; ++i) {
    const result::Row& like = run.rows[i];  // rows of a sample stand together
    result::Row row;
    row.index = like.index;
    row.step = step;
    row.graph = like.graph;
    row.target = like.target;
    row.golden = like.golden;
    row.pairing_rule = like.pairing_rule;
    row.pairing_evidence = like.pairing_evidence;
    row.is_model_output = like.is_model_output;
    row.reasons = like.is_excused() ? like.reasons : std::vector<std::string>{"interrupted"};
    run.rows.push_back(std::move(row));
  }
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
  spec.profile = options_.profile;
  spec.precision = options_.precision;
  spec.atol = options_.atol;
  spec.rtol = options_.rtol;
  spec.details = options_.details;
  if (spec.profile.empty() && !spec.atol && !spec.rtol)
    spec.profile = is_board_against_simulator_ ? "exact" : run.profile;
  spec.metrics = metric_names();
  spec.selection.ops = options_.ops;
  spec.command = "run";
  auto session = Session::open(spec, context);
  if (!session) {
    spec.mode = "dump-vs-dump";  // what `plumb compare` refuses is run if the user wants it
    session = Session::open(spec, context);
  }
  if (!session) return about_layers(std::move(session.error()), options_.layers);
  session_ = std::move(*session);
  target_graph_ = target.given ? target.given->graph : nullptr;
  golden_graph_ = golden.given ? golden.given->graph : nullptr;
  return {};
}

void RunComparison::begin(const RunSide& target, const RunSide& golden, const result::Run& sample) {
  run.command = sample.command;
  run.scenario = is_board_against_simulator_ ? "board-vs-simulator" : sample.scenario;
  run.profile = sample.profile;
  run.limits = sample.limits;
  run.atol = sample.atol;
  run.rtol = sample.rtol;
  run.precision = sample.precision;
  run.metrics = sample.metrics;
  run.target = sample.target;
  run.golden = sample.golden;
  run.network = sample.network;
  run.circumstances = options_.circumstances;
  std::copy(sample.circumstances.changes.begin(), sample.circumstances.changes.end(),
            std::back_inserter(run.circumstances.changes));
  for (const auto& [side, shown] : {std::pair{&target, &run.target}, {&golden, &run.golden}}) {
    shown->path = side->path;
    if (side->model) shown->convention = side->model->engine().version();
    if (side->model && !options_.keep.empty())
      shown->kept = (fs::path(options_.keep) / (side == &target ? "target" : "golden")).string();
    if (!side->gt.empty()) shown->convention = gt_text(side->gt, is_board_against_simulator_);
  }
  if (auto doubt = exchange_doubt(target, golden)) run.warnings.push_back(std::move(*doubt));
  const pair::Matcher* matcher = session_->state().matcher_or_null();
  if (matcher == nullptr) {
    const bool by_tensor = is_called_by_tensor(target) || is_called_by_tensor(golden);
    const RunSide& model = target.given || !by_tensor ? target : golden;
    if (!model.given) return;
    network_.emplace(*model.given, by_tensor);
    run.network = network_->network();
    return;
  }
  for (const graph::Edge& output : matcher->target().outputs)
    if (!is_asked_for(output.producer))
      run.warnings.push_back(
          fmt::format("{}, an output of the model, does not match --op '{}' and was not compared",
                      output.producer, fmt::join(options_.ops, "', '")));
}

void RunComparison::note_missing(const std::string& output) {
  std::vector<std::string>& missing = run.outputs_not_compared;
  if (std::find(missing.begin(), missing.end(), output) == missing.end()) missing.push_back(output);
}

bool RunComparison::is_asked_for(const std::string& op) const {
  return options_.ops.empty() ||
         std::any_of(options_.ops.begin(), options_.ops.end(),
                     [&](const std::string& pattern) { return operator_matches(pattern, op); });
}

}  // namespace plumb::replay
