// SPDX-License-Identifier: Apache-2.0
#include "pair/matcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plumb::pair {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Operator;
using graph::Output;

bool is_integer(const std::optional<DType>& dtype) {
  return dtype && kind_of(*dtype) == DKind::kInteger;
}

std::string text_of(const Tensor& tensor) { return fmt::format("{}:{}", tensor.op, tensor.output); }

std::string names_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The layer that a dequantizing operator stands behind; empty if its name does not tell.
std::string layer_of(std::string_view name) {
  for (std::string_view ending : {"_dequant_layer", "/AscendDequant", ".dequant"})
    if (name.ends_with(ending)) return std::string(name.substr(0, name.size() - ending.size()));
  return {};
}

// The original tensor of an output, as far as the file says; `rule` and `evidence` tell how.
std::optional<Tensor> recorded_origin(const Operator& op, int64_t index, bool is_alone,
                                      Match& match) {
  // Files may record any index as that of an origin.
  if (index >= 0 && index < std::ssize(op.outputs)) {
    const Output& output = op.outputs[static_cast<size_t>(index)];
    if (output.absence) {
      match.reason = output.absence->reason;
      match.message = output.absence->message;
      return std::nullopt;
    }
    if (!output.origin.empty()) {
      Tensor tensor{output.origin, output.origin_output.value_or(index)};
      match.rule = output.evidence.empty() ? "origin" : "structure";
      match.evidence = !output.evidence.empty() ? output.evidence
                                                : fmt::format("output {} of {} originates from {}",
                                                              index, op.name, text_of(tensor));
      return tensor;
    }
  }
  if (!op.origins) {
    match.rule = "own-name";
    match.evidence = fmt::format("{} is an operator of the original model", op.name);
    return Tensor{op.name, index};
  }
  if (op.origins->size() == 1 && !op.origins->front().empty() && is_alone) {
    match.rule = "renamed";
    match.evidence = fmt::format("{} was made from {} alone", op.name, op.origins->front());
    return Tensor{op.origins->front(), index};
  }
  match.reason = op.is_inserted() ? "no_counterpart" : "inside_fusion";
  match.message =
      op.is_inserted()
          ? fmt::format("{} was inserted by the compiler", op.name)
          : fmt::format("{} was made from {}; the graph does not say which tensor of them this is",
                        op.name, names_of(*op.origins));
  return std::nullopt;
}

// Runs another graph; its operators are dumped, the call is not.
bool is_call(const Operator& op) { return op.type == "PartitionedCall"; }

// Constants that were made of the same original as an operator: a Gather of ONNX is a GatherV2 and
// the number of an axis.
std::unordered_set<const Operator*> arguments_of(const Graph& graph) {
  const auto only_origin = [](const Operator& op) {
    return op.origins && op.origins->size() == 1 ? std::string_view(op.origins->front())
                                                 : std::string_view();
  };
  std::unordered_set<std::string_view> computed;
  for (const Operator& op : graph.operators)
    if (!is_never_dumped(op)) computed.insert(only_origin(op));
  std::unordered_set<const Operator*> arguments;
  for (const Operator& op : graph.operators)
    if (const std::string_view origin = only_origin(op);
        !origin.empty() && is_never_dumped(op) && computed.contains(origin))
      arguments.insert(&op);
  return arguments;
}

// True if the tensor is what the operator reads, and no tensor of the original by itself.
bool hands_on_output(const Operator& op, int64_t index) {
  const bool is_original = index >= 0 && index < std::ssize(op.outputs) &&
                           !op.outputs[static_cast<size_t>(index)].origin.empty();
  return keeps_values(op.type) && !is_original;
}

// As the original has it, whatever layout it is stored in.
const Shape* recorded_shape(const Operator& op, int64_t index) {
  if (index < 0 || index >= std::ssize(op.outputs)) return nullptr;
  const Output& output = op.outputs[static_cast<size_t>(index)];
  const auto& shape = output.origin_shape ? output.origin_shape : output.shape;
  return shape && element_count(*shape) ? &*shape : nullptr;
}

// As many elements, and not the same axes in another order.
bool is_reshape(const Shape& from, const Shape& to) {
  Shape axes = squeezed(from), others = squeezed(to);
  std::sort(axes.begin(), axes.end());
  std::sort(others.begin(), others.end());
  return axes != others && element_count(from) == element_count(to);
}

}  // namespace

bool is_quantized(const Graph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const Operator& op) { return is_quant(op) || is_dequant(op); });
}

bool is_converted(const Graph& graph) {
  return std::any_of(graph.operators.begin(), graph.operators.end(), [](const Operator& op) {
    return op.origins || std::any_of(op.outputs.begin(), op.outputs.end(),
                                     [](const Output& o) { return !o.origin.empty(); });
  });
}

int64_t count_fused(const Graph& graph) {
  return std::count_if(graph.operators.begin(), graph.operators.end(),
                       [](const Operator& op) { return op.origins && op.origins->size() > 1; });
}

Matcher::Matcher(const Graph& target, const Graph* golden, const Graph* quant)
    : target_(&target),
      golden_(golden),
      by_name_(target.by_name()),
      arguments_(arguments_of(target)) {
  for (const Operator& op : target.operators) {
    names_.add(op.name);
    if (arguments_.contains(&op)) continue;
    if (op.origins && op.origins->size() == 1) ++members_[op.origins->front()];
    if (op.origins)
      for (const std::string& origin : *op.origins)
        if (!origin.empty()) made_of_.try_emplace(origin, &op);
  }
  if (quant != nullptr) {
    quant_ = quant->by_name();
    // What the quantization tool folded into an operator went into that operator's target, too.
    for (const Operator& op : quant->operators)
      if (const auto made = made_of_.find(op.name); made != made_of_.end() && op.origins)
        for (const std::string& origin : *op.origins) made_of_.try_emplace(origin, made->second);
  }
  if (golden != nullptr) {
    golden_by_name_ = golden->by_name();
    const auto golden_arguments = arguments_of(*golden);
    decltype(golden_outputs_) stored;
    for (const Operator& op : golden->operators) {
      golden_names_.add(op.name);
      for (size_t k = 0; k < op.inputs.size(); ++k)
        golden_readers_[text_of({op.inputs[k].producer, op.inputs[k].output})].push_back(
            {op.name, static_cast<int64_t>(k)});
      // An operator of the golden graph went where the originals it was made from went.
      if (op.origins)
        for (const std::string& origin : *op.origins)
          if (const auto made = made_of_.find(origin); made != made_of_.end())
            made_of_.try_emplace(op.name, made->second);
      if (golden_arguments.contains(&op) || is_call(op)) continue;
      const bool is_storage = (keeps_values(op.type) && op.origins) || op.is_inserted();
      const auto outputs = std::max<int64_t>(1, std::ssize(op.outputs));
      for (int64_t k = 0; k < outputs; ++k) {
        if (is_storage && (!keeps_values(op.type) || hands_on_output(op, k))) continue;
        Match unused;
        if (const auto origin = recorded_origin(op, k, true, unused))
          (is_storage ? stored : golden_outputs_)[text_of(*origin)].push_back({op.name, k});
      }
    }
    golden_outputs_.merge(stored);  // what nothing else yields: a Reshape that was merged into it
  }
  for (const auto& [name, op] : made_of_) origin_names_.add(name);
  find_domains();
  for (const Operator& op : target.operators) {
    for (int64_t k = 0; k < std::max<int64_t>(1, std::ssize(op.outputs)); ++k) {
      if (hands_on_output(op, k) || is_call(op)) continue;
      if (const auto given = through(op, k, false).golden)
        givers_.try_emplace(fmt::format("{}:{}", normalised(given->op), given->output), &op);
    }
  }
}

const Operator* Matcher::find(std::string_view dump_name) const {
  const Names::Found found = names_.find(dump_name);
  return found.name.empty() ? nullptr : by_name_.at(found.name);
}

const Operator* Matcher::find_golden(std::string_view dump_name) const {
  const Names::Found found = golden_names_.find(dump_name);
  return found.name.empty() ? nullptr : golden_by_name_.at(found.name);
}

std::vector<Tensor> Matcher::golden_readers(const Tensor& tensor) const {
  const auto found = golden_readers_.find(text_of(tensor));
  return found == golden_readers_.end() ? std::vector<Tensor>() : found->second;
}

const Operator* Matcher::made_of(std::string_view dump_name) const {
  const Names::Found found = origin_names_.find(dump_name);
  return found.name.empty() ? nullptr : made_of_.at(found.name);
}

const Operator* Matcher::giver_of(std::string_view dump_name, int64_t output) const {
  const auto found = givers_.find(fmt::format("{}:{}", normalised(dump_name), output));
  return found == givers_.end() ? nullptr : found->second;
}

// Between a quantizing operator and a dequantizing one values are integers, unless the graph says
// that they are not.
void Matcher::find_domains() {
  std::unordered_map<const Operator*, std::vector<const Operator*>> consumers;
  std::vector<const Operator*> reached;
  const auto may_be_integer = [](const Operator& op) {
    return op.outputs.empty() || !op.outputs.front().dtype || is_integer(op.outputs.front().dtype);
  };
  for (const Operator& op : target_->operators) {
    for (const Edge& edge : op.inputs)
      if (const auto producer = by_name_.find(edge.producer); producer != by_name_.end())
        consumers[producer->second].push_back(&op);
    if (is_quant(op) && may_be_integer(op)) {
      quantized_[&op] = op.quantization;
      reached.push_back(&op);
    }
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto scale = quantized_[reached[i]];
    for (const Operator* op : consumers[reached[i]]) {
      if (is_dequant(*op) || !may_be_integer(*op)) continue;
      if (quantized_.try_emplace(op, keeps_scale(op->type) ? scale : std::nullopt).second)
        reached.push_back(op);
    }
  }
}

std::optional<Tensor> Matcher::origin_of(const Operator& op, int64_t index, Match& match) const {
  const bool is_alone = op.origins && op.origins->size() == 1 && !arguments_.contains(&op) &&
                        members_.at(op.origins->front()) == 1;
  return recorded_origin(op, index, is_alone, match);
}

// From a tensor of the quantized original to one of the original itself.
void Matcher::lead_back(Tensor& tensor, Match& match) const {
  const auto found = quant_.find(tensor.op);
  if (found == quant_.end()) return;
  Match step;
  const auto origin = recorded_origin(*found->second, tensor.output, true, step);
  if (!origin || text_of(*origin) == text_of(tensor)) return;
  match.evidence += fmt::format(", which the quantization tool made from {}", text_of(*origin));
  tensor = *origin;
}

// Goes from an output to the one that it hands on, over as many operators as that takes. Tells in
// `match` how, or why that leads nowhere.
const Operator* Matcher::maker_of(const Operator& first, int64_t& index, Match& match) const {
  const Operator* op = &first;
  for (size_t steps = 0; hands_on_output(*op, index); ++steps) {
    if (op->inputs.empty() || steps > target_->operators.size()) {
      match.reason = "no_counterpart";
      match.message = fmt::format("nothing feeds {}", op->name);
      return nullptr;
    }
    const auto slot = std::min<size_t>(static_cast<size_t>(index), op->inputs.size() - 1);
    const Edge& edge = op->inputs[slot];
    const auto producer = by_name_.find(edge.producer);
    if (producer == by_name_.end()) {
      match.reason = "ambiguous_pair";
      match.message = fmt::format("the graph has no operator {}, which feeds {}",
                                  edge.producer.empty() ? "by that name" : edge.producer, op->name);
      return nullptr;
    }
    match.evidence += fmt::format("{}{} hands on {}:{}", match.evidence.empty() ? "" : ", ",
                                  op->name, edge.producer, edge.output);
    op = producer->second;
    index = edge.output;
  }
  return op;
}

// The golden operator that yields what `op` was made from.
void Matcher::find_golden_maker(const Operator& op, Tensor origin, Match& match) const {
  if (golden_ == nullptr) {
    match.golden = std::move(origin);
    return;
  }
  const auto outputs = golden_outputs_.find(text_of(origin));
  if (outputs == golden_outputs_.end()) {
    match.reason = "no_golden";
    match.message = fmt::format("no operator of the golden graph yields {}", text_of(origin));
    return;
  }
  const auto& candidates = outputs->second;
  const auto same = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const Tensor& t) { return t.op == op.name; });
  if (candidates.size() > 1 && same == candidates.end()) {
    match.reason = "ambiguous_pair";
    match.message = fmt::format("{} operators of the golden graph yield {}", candidates.size(),
                                text_of(origin));
    return;
  }
  match.golden = same == candidates.end() ? candidates.front() : *same;
  if (text_of(*match.golden) != text_of(origin))
    match.evidence += fmt::format(", as does {} of golden", text_of(*match.golden));
}

Match Matcher::through(const Operator& first, int64_t index, bool asks_before) const {
  Match match;
  const Shape* const shape = recorded_shape(first, index);
  const Operator* op = maker_of(first, index, match);
  if (op == nullptr) return match;
  std::string path = std::exchange(match.evidence, {});
  if (const Shape* own = recorded_shape(*op, index); own != nullptr && shape != nullptr)
    match.is_reshaped = is_reshape(*own, *shape);
  match.is_source = is_never_dumped(*op);
  const auto domain = quantized_.find(op);
  match.is_quantized = domain != quantized_.end();
  if (match.is_quantized) match.quantization = domain->second;
  auto origin = origin_of(*op, index, match);
  if (!origin) return match;
  lead_back(*origin, match);
  if (match.is_reshaped) path += " in the shape " + to_string(*shape);
  if (!path.empty()) match.evidence = path + ", " + match.evidence;
  // Rounded to integers a tensor still stands for the same numbers; and what the quantization tool
  // inserted behind a layer gives the layer's output.
  if (is_quant(*op) && !op->inputs.empty()) {
    if (const auto producer = by_name_.find(op->inputs.front().producer);
        asks_before && producer != by_name_.end() && !is_quant(*producer->second))
      match.before_quantization =
          through(*producer->second, op->inputs.front().output, false).golden;
  } else if (is_dequant(*op)) {
    match.dequantized_layer = layer_of(origin->op);
  }
  find_golden_maker(*op, std::move(*origin), match);
  return match;
}

Match Matcher::output(const Operator& op, int64_t index) const { return through(op, index); }

Match Matcher::input(const Operator& op, int64_t index) const {
  Match match;
  if (index >= std::ssize(op.inputs)) {
    match.reason = "no_counterpart";
    match.message = fmt::format("the graph has {} inputs of {}", op.inputs.size(), op.name);
    return match;
  }
  const Edge& edge = op.inputs[static_cast<size_t>(index)];
  const auto producer = by_name_.find(edge.producer);
  if (producer == by_name_.end()) {
    match.reason = "ambiguous_pair";
    match.message = edge.producer.empty()
                        ? fmt::format("the edge to input {} of {} is malformed", index, op.name)
                        : fmt::format("the graph has no operator {}, which feeds input {}",
                                      edge.producer, index);
    return match;
  }
  match = through(*producer->second, edge.output);
  if (match.golden)
    match.evidence = fmt::format("fed by {}:{}, {}", edge.producer, edge.output, match.evidence);
  return match;
}

std::vector<std::string> describe(const Operator& op) {
  std::vector<std::string> lines{
      fmt::format("{} ({})", op.name, op.type.empty() ? "no type" : op.type)};
  if (!op.origins)
    lines.emplace_back("  made from: not recorded; taken as an operator of the original model");
  else if (op.is_inserted())
    lines.emplace_back("  made from: nothing; inserted by the compiler");
  else
    lines.push_back(fmt::format("  made from: {}", names_of(*op.origins)));
  if (!op.l1_group.empty())
    lines.push_back(fmt::format("  fused through L1: group {}", op.l1_group));
  if (op.quantization)
    lines.push_back(fmt::format("  quantizes: integer = round(number * {} + {})",
                                op.quantization->scale, op.quantization->offset));
  return lines;
}

}  // namespace plumb::pair
