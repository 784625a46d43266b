// SPDX-License-Identifier: Apache-2.0
#include "replay/own_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "compare/session_state.h"
#include "graph/onnx_build.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_external.h"
#include "pair/names.h"
#include "replay/isolate_sources.h"
#include "replay/run_part.h"
#include "tensor/decode.h"

namespace plumb::replay {
namespace {

// A tensor of the model that both sides show.
struct Shown {
  std::string tensor;
  size_t row = 0;
  Source target, golden;
};

// So much is fed and given out at a time; what one operator needs may be more.
constexpr int64_t kMostBytes = int64_t{1} << 29;

Result<std::vector<double>> numbers(const engine::TensorView& tensor) {
  const auto count = element_count(tensor.shape);
  if (!count || kind_of(tensor.dtype) != DKind::kFloat)
    return Error{"no floating-point numbers", "", "look at another operator"};
  std::vector<double> values(static_cast<size_t>(*count));
  decode_double(tensor.dtype, tensor.bytes.data(), *count, values.data());
  return values;
}

double relative(const std::vector<double>& a, const std::vector<double>& b,
                const std::vector<double>& unit) {
  double dd = 0, uu = 0;
  for (size_t i = 0; i < unit.size(); ++i) {
    if (a[i] == b[i]) {  // infinities among them
      uu += std::isfinite(unit[i]) ? unit[i] * unit[i] : 0;
      continue;
    }
    dd += (a[i] - b[i]) * (a[i] - b[i]);
    uu += unit[i] * unit[i];
  }
  return uu > 0 ? std::sqrt(dd / uu) : dd > 0 ? std::numeric_limits<double>::infinity() : 0;
}

class Measurement {
 public:
  Measurement(const GoldenModel& golden, const Session& session, std::span<const RowId> ids,
              result::Run& run)
      : golden_(golden), state_(session.state()), ids_(ids), run_(run), model_(golden.model) {}

  Result<int64_t> measure(const RunContext& context) {
    find_shown();
    if (shown_.empty()) return 0;
    if (auto cut = cut_apart(); !cut) return cut.error();
    int64_t measured = 0, bytes = 0;
    Parts some;
    for (Part& part : parts()) {
      if (context.cancelled) return measured;
      if (!can_be_fed(part)) continue;
      for (const size_t node : part) bytes += bytes_of(model_.graph.nodes[node]);
      some.push_back(std::move(part));
      if (bytes < kMostBytes) continue;
      measured += replay_those_that_run(some, context);
      some.clear();
      bytes = 0;
    }
    measured += replay_those_that_run(some, context);
    if (measured == 0 && problem_) return std::move(*problem_);
    return measured;
  }

 private:
  using Part = std::vector<size_t>;  // nodes that run together or not at all
  using Parts = std::vector<Part>;

  // What cannot be run costs itself, not what was to run along with it.
  int64_t replay_those_that_run(std::span<const Part> some, const RunContext& context) {
    if (some.empty() || context.cancelled) return 0;
    std::vector<size_t> nodes;
    for (const Part& part : some) nodes.insert(nodes.end(), part.begin(), part.end());
    std::sort(nodes.begin(), nodes.end());
    auto measured = replay(nodes);
    if (measured) return *measured;
    if (!problem_) problem_ = measured.error();
    if (some.size() == 1) return 0;
    const size_t half = some.size() / 2;
    return replay_those_that_run(some.first(half), context) +
           replay_those_that_run(some.subspan(half), context);
  }

  // Tensors of the model by the golden operator and slot of rows, as dump tools write names.
  void find_shown() {
    std::unordered_map<std::string, std::string> tensors;
    for (const graph::OnnxNode& node : model_.graph.nodes)
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].empty()) continue;
        const std::string slot = fmt::format("\noutput:{}", k);
        tensors.try_emplace(pair::normalised(node.name) + slot, node.outputs[k]);
        if (k == 0) tensors.try_emplace(pair::normalised(node.outputs[0]) + slot, node.outputs[0]);
      }
    for (const graph::OnnxValue& input : model_.graph.inputs)
      tensors.try_emplace(pair::normalised(input.name) + "\noutput:0", input.name);
    for (size_t row = 0; row < run_.rows.size(); ++row) {
      const result::Row& each = run_.rows[row];
      const RowId id = ids_.empty() ? static_cast<RowId>(row) : ids_[row];
      if (id < 0 || !each.target || !each.golden || each.verdict == result::Verdict::kNotCompared)
        continue;
      const auto tensor =
          tensors.find(pair::normalised(each.golden->operator_name) + "\n" + each.golden->slot);
      const pair::PlannedRow& planned = state_.rows[static_cast<size_t>(id)];
      if (tensor == tensors.end() || planned.golden_is_own || planned.is_quantized ||
          !can_stand_in(*each.target, *each.golden) || each.target->slot.starts_with("input") ||
          each.golden->slot.starts_with("input"))
        continue;
      const auto [at, is_new] = by_tensor_.try_emplace(tensor->second, shown_.size());
      if (is_new)
        shown_.push_back({tensor->second,
                          row,
                          {&state_.target, planned.target},
                          {&state_.golden, planned.golden}});
    }
  }

  // The model takes the target's tensor for its own.
  static bool can_stand_in(const result::Side& target, const result::Side& golden) {
    return target.shape && golden.shape && squeezed(*target.shape) == squeezed(*golden.shape);
  }

  // Who reads a tensor that the target shows reads an input of the model instead.
  Result<void> cut_apart() {
    graph::drop_weight_inputs(model_);
    graph::UniqueNames names = graph::names_in(model_.graph);
    std::unordered_set<std::string> inputs;
    for (const graph::OnnxValue& input : model_.graph.inputs) inputs.emplace(input.name);
    for (const Shown& each : shown_) {
      if (inputs.contains(each.tensor)) {
        continue;  // fed as it is
      }
      const std::vector<graph::OnnxReader> readers = graph::readers_of(model_, each.tensor);
      if (readers.empty()) continue;
      const std::string fed = names.claim(each.tensor + "_target");
      if (auto wired = graph::rewire(model_, readers, each.tensor, fed); !wired) return wired;
      tensor_of_[fed] = each.tensor;
    }
    return {};
  }

  // Operators that still hang together, in the order of the model: they run together or not at all.
  Parts parts() const {
    const std::vector<graph::OnnxNode>& nodes = model_.graph.nodes;
    std::vector<size_t> part_of(nodes.size());
    std::iota(part_of.begin(), part_of.end(), size_t{0});
    const auto root = [&](size_t node) {
      while (part_of[node] != node) node = part_of[node] = part_of[part_of[node]];
      return node;
    };
    std::unordered_map<std::string_view, size_t> givers;
    for (size_t i = 0; i < nodes.size(); ++i) {
      graph::each_read(nodes[i], [&](std::string_view tensor) {
        if (const auto giver = givers.find(tensor); giver != givers.end())
          part_of[root(i)] = root(giver->second);
      });
      if (nodes[i].type == "Constant") continue;  // comes along with whoever reads it
      for (const std::string_view output : nodes[i].outputs) givers.emplace(output, i);
    }
    std::map<size_t, std::vector<size_t>> together;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].type != "Constant") together[root(i)].push_back(i);
    Parts parts;
    for (auto& [first, part] : together) parts.push_back(std::move(part));
    return parts;
  }

  // Whether the target shows all that these read.
  bool can_be_fed(std::span<const size_t> part) const {
    for (const std::string& input : graph::boundary_of(model_, part).inputs)
      if (!tensor_of_.contains(input) && !by_tensor_.contains(input)) return false;
    return true;
  }

  int64_t bytes_of(const graph::OnnxNode& node) const {
    int64_t bytes = 0;
    const auto add = [&](std::string_view tensor) {
      if (const auto at = by_tensor_.find(std::string(tensor)); at != by_tensor_.end())
        if (const auto& shape = run_.rows[shown_[at->second].row].golden->shape)
          bytes += 8 * element_count(*shape).value_or(0);
    };
    for (const std::string_view output : node.outputs) add(output);
    for (const std::string_view input : node.inputs)
      if (const auto fed = tensor_of_.find(std::string(input)); fed != tensor_of_.end())
        add(fed->second);
    return bytes;
  }

  // What the target's operator read, as the model wants it.
  Result<engine::Tensor> target_as_fed(const Shown& each) const {
    auto golden = load_info(each.golden);
    if (!golden) return golden.error();
    auto target = load(each.target);
    if (!target) return target.error();
    return fitted(std::move(*target), golden->dtype, golden->shape);
  }

  static Result<engine::Tensor> load_info(const Source& source) {
    auto reader = dump::EntryReader::open(*source.set, *source.entry);
    if (!reader) return reader.error();
    return engine::Tensor{reader->reader().dtype(), reader->reader().shape(), {}};
  }

  Result<int64_t> replay(std::span<const size_t> nodes) {
    engine::Inputs inputs;
    graph::Outside outside;
    for (const std::string& input : graph::boundary_of(model_, nodes).inputs) {
      const auto tensor = tensor_of_.find(input);
      const auto at = by_tensor_.find(tensor == tensor_of_.end() ? input : tensor->second);
      if (at == by_tensor_.end()) continue;  // an input of the model that nobody dumped
      auto fed = target_as_fed(shown_[at->second]);
      if (!fed) return fed.error();
      outside.types[input] = {fed->dtype, fed->shape};
      inputs[input] = std::move(*fed);
    }
    auto part = graph::cut(model_, nodes, outside);
    if (!part) return part.error();
    std::vector<std::string> wanted;
    for (const size_t node : nodes)
      for (const std::string_view output : model_.graph.nodes[node].outputs)
        if (by_tensor_.contains(std::string(output))) wanted.emplace_back(output);
    graph::expose(*part, wanted);
    std::erase_if(part->graph.outputs, [&](const graph::OnnxValue& value) {
      return !by_tensor_.contains(std::string(value.name));
    });
    if (part->graph.outputs.empty()) return 0;
    if (part->is_external())
      if (auto inlined = graph::inline_external(*part, golden_.view.data); !inlined)
        return inlined.error();
    const std::string bytes = graph::write_onnx(*part);
    auto session = golden_.engine.open({as_bytes(bytes), {}, {}, {}}, {});
    if (!session) return session.error();
    int64_t measured = 0;
    auto ran = (*session)->run(inputs, [&](const engine::Output& output) -> Result<void> {
      const auto at = by_tensor_.find(output.port.name);
      if (output.tensor && at != by_tensor_.end())
        measured += split(shown_[at->second], *output.tensor);
      return {};
    });
    if (!ran) return ran.error();
    return measured;
  }

  bool split(const Shown& each, const engine::TensorView& again) {
    const auto target = load(each.target), golden = load(each.golden);
    if (!target || !golden) return false;
    const auto t = numbers(target->view()), g = numbers(golden->view()), a = numbers(again);
    if (!t || !g || !a || t->size() != g->size() || a->size() != g->size()) return false;
    run_.rows[each.row].own_error = {relative(*t, *a, *g), relative(*a, *g, *g), true};
    return true;
  }

  const GoldenModel& golden_;
  const SessionState& state_;
  std::span<const RowId> ids_;
  result::Run& run_;
  graph::OnnxModel model_;
  std::vector<Shown> shown_;
  std::unordered_map<std::string, size_t> by_tensor_;       // places in shown_
  std::unordered_map<std::string, std::string> tensor_of_;  // what a new input stands for
  std::optional<Error> problem_;                            // the first part that could not be run
};

}  // namespace

Result<int64_t> measure_own_errors(const GoldenModel& golden, const Session& session,
                                   std::span<const RowId> ids, result::Run& run,
                                   const RunContext& context) {
  return Measurement(golden, session, ids, run).measure(context);
}

}  // namespace plumb::replay
