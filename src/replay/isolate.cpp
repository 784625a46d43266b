// SPDX-License-Identifier: Apache-2.0
#include "replay/isolate.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/threads.h"
#include "compare/gather.h"
#include "compare/session_state.h"
#include "diagnose/reopen.h"
#include "dump/memory.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_external.h"
#include "judge/profile.h"
#include "judge/tolerance.h"
#include "judge/verdict.h"
#include "replay/isolate_part.h"
#include "replay/run_part.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;
using metrics::Metric;

// The profile of the comparison, unless the user names another.
Result<judge::LimitRules> load_rules(const IsolateOptions& options, const result::Run& run,
                                     std::vector<std::string>& warnings) {
  if (!options.profile.empty()) return judge::load_rules(options.profile, "");
  if (run.profile == judge::kToleranceRules && run.atol) return judge::rules_of_tolerance();
  if (auto rules = judge::load_rules(run.profile, ""); rules) return rules;
  warnings.push_back(
      fmt::format("profile '{}' of the result is not at hand: judged by standard", run.profile));
  return judge::load_rules("standard", "");
}

std::vector<const Metric*> columns_for(const judge::LimitRules& rules) {
  std::vector<const Metric*> columns = rules.metrics();
  for (std::string_view name : {"cosine", "rel_euclid", "max_abs"})
    if (const Metric* metric = metrics::metric_by_name(name);
        std::find(columns.begin(), columns.end(), metric) == columns.end())
      columns.push_back(metric);
  return columns;
}

// Where a dump is now.
std::string dump_path(const std::string& named, const result::InputSide& side,
                      const fs::path& directory) {
  if (!named.empty()) return named;
  return diagnose::path_now(side.kept.empty() ? side.path : side.kept, directory);
}

result::Replayed description(const IsolateOptions& options, const result::Saved& saved,
                             const judge::LimitRules& rules, const graph::OnnxModel& model) {
  const result::Run& run = saved.run;
  result::Replayed replayed;
  replayed.columns = columns_for(rules);
  replayed.model = fs::path(options.model).filename().string();
  replayed.ir_version = model.ir_version.value_or(0);
  for (const graph::OnnxOpset& opset : graph::opsets_of(model))
    replayed.opsets.emplace_back(opset.domain, opset.version);
  replayed.profile = rules.name;
  const auto place = [](const std::string& named, const result::InputSide& side) {
    return !named.empty() ? named : side.kept.empty() ? side.path : side.kept;
  };
  replayed.target = place(options.target, run.target);
  replayed.golden = place(options.golden, run.golden);
  replayed.target_convention = run.target.convention;
  replayed.golden_convention = run.golden.convention;
  replayed.result_version = saved.version;
  return replayed;
}

// Runs the part with the inputs of either side, and compares all that it is about.
class PartReplay {
 public:
  PartReplay(const OriginalModel& original, const IsolatedPart& part,
             const judge::LimitRules& rules, std::optional<metrics::Tolerance> tolerance,
             std::optional<DType> computed, Isolated& isolated, RunContext& context)
      : original_(original),
        part_(part),
        rules_(rules),
        tolerance_(tolerance),
        computed_(computed),
        replayed_(isolated.replayed),
        reproduction_(isolated.reproduction),
        context_(context) {}

  Result<void> run(engine::Engine& engine, const std::string& path) {
    const engine::Model view = original_.view();
    auto types = input_types(engine, view, original_.model(), part_.nodes);
    if (!types) return std::move(types.error()).in(path);
    graph::Outside outside;
    if (auto loaded = load_inputs(*types, outside); !loaded) return loaded;
    auto part = graph::cut(original_.model(), part_.nodes, outside);
    if (!part) return std::move(part.error()).in(path);
    if (part->is_external())
      if (auto inlined = graph::inline_external(*part, view.data); !inlined)
        return std::move(inlined.error()).in(path);
    const std::string bytes = graph::write_onnx(*part);
    reproduction_.add("model.onnx", bytes);
    const engine::Model alone{as_bytes(bytes), {}, {}, {}};
    for (const bool is_target : {false, true}) {
      auto given = run_once(engine, alone, is_target ? target_inputs_ : golden_inputs_);
      if (!given) return std::move(given.error()).in("the operators alone");
      (is_target ? target_again_ : golden_again_) = std::move(*given);
    }
    return {};
  }

  Result<void> compare() {
    for (const result::ReplayPort& input : replayed_.inputs)
      if (auto done = add("input", input.place, input.target_file, input.golden_file); !done)
        return done;
    for (const auto& [name, sources] : part_.outputs)
      if (auto done = compare_output(name, sources); !done) return done;
    return {};
  }

 private:
  Result<void> load_inputs(const Types& types, graph::Outside& outside) {
    for (const auto& [name, sources] : part_.inputs) {
      auto golden = load(sources.golden), target = load(sources.target);
      if (!golden) return golden.error();
      if (!target) return target.error();
      const auto type = types.find(name);
      const DType dtype =
          type != types.end() && type->second.dtype ? *type->second.dtype : golden->dtype;
      result::ReplayPort port{name, sources.place, std::string(name_of(dtype)), golden->shape, {},
                              {}};
      auto fits = fitted(std::move(*golden), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("golden " + sources.place);
      golden_inputs_[name] = std::move(*fits);
      fits = fitted(std::move(*target), dtype, port.shape);
      if (!fits) return std::move(fits.error()).in("target " + sources.place);
      target_inputs_[name] = std::move(*fits);
      port.golden_file = reproduction_.add("golden_inputs", name, golden_inputs_[name]);
      port.target_file = reproduction_.add("target_inputs", name, target_inputs_[name]);
      outside.types[name] = {dtype, port.shape};
      replayed_.inputs.push_back(std::move(port));
    }
    return {};
  }

  Result<void> compare_output(const std::string& name, const TensorSources& sources) {
    auto target = load(sources.target), golden = load(sources.golden);
    if (!target) return target.error();
    if (!golden) return golden.error();
    const engine::Tensor& again = golden_again_[name];
    replayed_.is_exact &= again.dtype == golden->dtype && again.bytes == golden->bytes;
    const std::string expected = reproduction_.add("expected", name, *golden);
    const std::string own = reproduction_.add("target", name, *target);
    const std::string with_golden = reproduction_.add("replayed_golden", name, again);
    const std::string with_target = reproduction_.add("replayed_target", name, target_again_[name]);
    replayed_.outputs.push_back(
        {name, sources.place, std::string(name_of(golden->dtype)), golden->shape, expected, own});
    rule_operator_ = sources.operator_name;
    rule_slot_ = sources.slot;
    if (auto done = check_replay(sources.place, with_golden, expected); !done) return done;
    if (auto done = add("total", sources.place, own, expected); !done) return done;
    if (auto done = add("inherited", sources.place, with_target, expected); !done) return done;
    return add("own", sources.place, own, with_target);
  }

  Result<void> add(std::string title, const std::string& tensor, const std::string& target,
                   const std::string& golden) {
    auto row = judge(target, golden);
    if (!row) return std::move(row.error()).in(tensor);
    replayed_.errors.push_back({std::move(title), tensor, std::move(*row)});
    return {};
  }

  // The cut-out model must be the model that golden was made with: else its answers mean nothing.
  Result<void> check_replay(const std::string& place, const std::string& replayed,
                            const std::string& expected) {
    auto row = judge(replayed, expected);
    if (!row) return std::move(row.error()).in(place);
    if (row->verdict != result::Verdict::kPass)
      return Error{"the model does not reproduce the golden tensor from the golden inputs",
                   fmt::format("{}: {}", place, row->message),
                   "name the model that the golden dump was made with, by --model"};
    replayed_.again.push_back({"again", place, std::move(*row)});
    return {};
  }

  // Two files of the reproduction.
  Result<result::Row> judge(const std::string& target, const std::string& golden) {
    const auto open = [&](const std::string& file) -> Result<dump::EntryReader> {
      const engine::Tensor& tensor = reproduction_.tensor(file);
      auto set = dump::dump_of_tensors(
          {{.op = file, .dtype = tensor.dtype, .shape = tensor.shape, .bytes = tensor.bytes}});
      if (!set) return set.error();
      return dump::EntryReader::open(*set, set->entries.front());
    };
    auto t = open(target), g = open(golden);
    if (!t) return t.error();
    if (!g) return g.error();
    const Shape& t_shape = t->reader().shape();
    const Shape& g_shape = g->reader().shape();
    if (squeezed(t_shape) != squeezed(g_shape))
      return Error{"shapes differ",
                   fmt::format("{} against {}", to_string(t_shape), to_string(g_shape)),
                   "`plumb compare` tells more about such tensors"};
    std::optional<metrics::Closeness> closeness;
    if (tolerance_) closeness.emplace(metrics::Closeness{*tolerance_});
    auto facts = on_threads_of(context_, [&] {
      return compare::gather(*t, *g, metrics::request_for(replayed_.columns), context_,
                             {closeness ? &*closeness : nullptr, nullptr});
    });
    if (!facts) return facts.error();
    if (!*facts) return Error{"interrupted", part_.operators[0].name, "run the command again"};
    result::Row row;
    for (const Metric* metric : replayed_.columns)
      row.values.push_back(closeness && metric->name == metrics::kCloseShare
                               ? closeness->share((*facts)->sums)
                               : metric->finish(**facts));
    judge::judge(rules_.for_tensor(rule_operator_, rule_slot_).for_pair(**facts, computed_),
                 **facts, replayed_.columns, row);
    return row;
  }

  const OriginalModel& original_;
  const IsolatedPart& part_;
  const judge::LimitRules& rules_;
  std::optional<metrics::Tolerance> tolerance_;
  const std::optional<DType> computed_;  // what the target computes in, as the user said
  result::Replayed& replayed_;
  Reproduction& reproduction_;
  RunContext& context_;
  engine::Inputs golden_inputs_, target_inputs_, golden_again_, target_again_;
  std::string rule_operator_, rule_slot_;  // whose limits judge
};

}  // namespace

Result<std::string> original_model(const IsolateOptions& options, const result::Run& run) {
  if (!options.model.empty()) return options.model;
  if (!run.golden.kept.empty())
    return diagnose::path_now(run.golden.path, fs::path(options.result).parent_path());
  if (run.command == "run")
    return Error{"the result is of a run that kept no tensors", options.result,
                 "run it again with --layers all --keep DIR --json FILE, and give that result"};
  return Error{"where is the original model?", "plumb isolate",
               "name the ONNX file that the golden dump was made with: --model FILE"};
}

Result<Isolated> isolate(const IsolateOptions& given, RunContext& context,
                         std::vector<std::string>& warnings) {
  const auto saved = result::load_result(given.result);
  if (!saved) return saved.error();
  const result::Run& run = saved->run;
  const fs::path directory = fs::path(given.result).parent_path();
  auto model = original_model(given, run);
  if (!model) return model.error();
  IsolateOptions options = given;
  options.model = std::move(*model);
  const auto rules = load_rules(options, run, warnings);
  if (!rules) return rules.error();
  auto original = OriginalModel::open(
      options.model, run,
      {dump_path(options.target, run.target, directory),
       dump_path(options.golden, run.golden, directory), options.step, options.inputs});
  if (!original) return original.error();
  auto part = (*original)->find(options.op, options.to);
  if (!part) {
    const bool has_outputs_only =
        std::all_of(run.rows.begin(), run.rows.end(),
                    [](const result::Row& row) { return row.is_model_output; });
    if (!run.golden.kept.empty() && has_outputs_only)
      part.error().remedy =
          "run it again with --layers all: this run kept the model's outputs only";
    return part.error();
  }
  auto engine = engine::load_engine(options.engine, options.limits);
  if (!engine) return engine.error();
  Isolated isolated{description(options, *saved, *rules, (*original)->model()), {}};
  isolated.replayed.engine = (*engine)->version();
  isolated.replayed.operators = part->operators;
  isolated.replayed.left_out = part->left_out;
  std::optional<metrics::Tolerance> tolerance;
  if (run.atol) tolerance = {*run.atol, run.rtol.value_or(0)};
  std::optional<DType> computed;
  if (auto known = compare::computed_in(run.precision); known) computed = *known;
  PartReplay replay(**original, *part, *rules, tolerance, computed, isolated, context);
  if (auto done = replay.run(**engine, options.model); !done) return done.error();
  if (auto done = replay.compare(); !done) return done.error();
  return isolated;
}

}  // namespace plumb::replay
