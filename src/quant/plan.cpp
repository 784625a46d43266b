// SPDX-License-Identifier: Apache-2.0
#include "quant/plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/onnx_edit.h"

namespace plumb::quant {
namespace {

using graph::OnnxNode;

// What quantization does to an operator.
enum class Treatment : uint8_t {
  kFloat,    // left alone: unknown, or too sensitive
  kLayer,    // inputs and output are rounded
  kPassive,  // moves numbers about: what it gives is on the grid of what it reads
  kConcat,
  kConstant,
};

struct Rule {
  std::string_view type;
  Treatment kind;
};
constexpr Rule kRules[] = {
    {"Add", Treatment::kLayer},
    {"AveragePool", Treatment::kLayer},
    {"Clip", Treatment::kLayer},
    {"Concat", Treatment::kConcat},
    {"Constant", Treatment::kConstant},
    {"Conv", Treatment::kLayer},
    {"ConvTranspose", Treatment::kLayer},
    {"DepthToSpace", Treatment::kPassive},
    {"Div", Treatment::kLayer},
    {"Dropout", Treatment::kPassive},
    {"Elu", Treatment::kLayer},
    {"Flatten", Treatment::kPassive},
    {"Gather", Treatment::kPassive},
    {"Gelu", Treatment::kLayer},
    {"Gemm", Treatment::kLayer},
    {"GlobalAveragePool", Treatment::kLayer},
    {"GlobalMaxPool", Treatment::kPassive},
    {"HardSigmoid", Treatment::kLayer},
    {"HardSwish", Treatment::kLayer},
    {"Identity", Treatment::kPassive},
    {"LeakyRelu", Treatment::kLayer},
    {"MatMul", Treatment::kLayer},
    {"MaxPool", Treatment::kPassive},
    {"Mish", Treatment::kLayer},
    {"Mul", Treatment::kLayer},
    {"PRelu", Treatment::kLayer},
    {"ReduceMean", Treatment::kLayer},
    {"Relu", Treatment::kLayer},
    {"Reshape", Treatment::kPassive},
    {"Resize", Treatment::kLayer},
    {"Sigmoid", Treatment::kLayer},
    {"Slice", Treatment::kPassive},
    {"SpaceToDepth", Treatment::kPassive},
    {"Split", Treatment::kPassive},
    {"Squeeze", Treatment::kPassive},
    {"Sub", Treatment::kLayer},
    {"Sum", Treatment::kLayer},
    {"Tanh", Treatment::kLayer},
    {"Transpose", Treatment::kPassive},
    {"Unsqueeze", Treatment::kPassive},
    {"Upsample", Treatment::kLayer},
};

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
bool is_elementwise(std::string_view type) {
  return is_one_of(type, {"Add", "Sub", "Mul", "Div", "Sum"});
}

class Planner {
 public:
  Planner(const PreparedModel& model, const engine::InferredTypes& types,
          const PlanOptions& options)
      : model_(model),
        graph_(model.model.graph),
        types_(types),
        options_(options),
        wiring_(graph_) {
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      graph::each_read(graph_.nodes[i],
                       [&](std::string_view name) { readers_[name].push_back(i); });
    for (const graph::OnnxValue& output : graph_.outputs) outputs_.insert(output.name);
    const std::vector<bool> constant = graph::constant_nodes(model.model);
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      kinds_.push_back(constant[i] ? Treatment::kConstant : kind_of_node(graph_.nodes[i]));
  }

  Plan plan() {
    leave_arithmetic_float();
    fuse();
    find_tail();
    add_layers();
    add_quantizers();
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      if (kinds_[i] == Treatment::kFloat && gives_floats(graph_.nodes[i]))
        plan_.left_float.push_back(
            fmt::format("{} ({})", graph_.nodes[i].name, graph_.nodes[i].type));
    return std::move(plan_);
  }

 private:
  bool is_float(std::string_view tensor) const {
    const auto found = types_.find(tensor);
    return found != types_.end() && found->second.dtype == DType::kFloat32;
  }
  bool gives_floats(const OnnxNode& node) const {
    return !node.outputs.empty() && is_float(node.outputs[0]);
  }
  bool is_constant(std::string_view tensor) const {
    if (wiring_.weight.contains(tensor)) return true;
    const auto producer = wiring_.producer_of(tensor);
    return producer && kinds_[*producer] == Treatment::kConstant;
  }
  // Of floats that are computed.
  std::vector<std::string_view> data_inputs(const OnnxNode& node, Treatment kind) const {
    std::vector<std::string_view> names;
    for (const std::string_view name : node.inputs) {
      if (!name.empty() && is_float(name) && !is_constant(name)) names.push_back(name);
      if (kind == Treatment::kPassive) break;
    }
    return names;
  }

  Treatment kind_of_node(const OnnxNode& node) const {
    if (!node.is_standard() || !node.bodies.empty() || !gives_floats(node))
      return Treatment::kFloat;
    const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                    [&](const Rule& each) { return each.type == node.type; });
    if (rule == std::end(kRules)) return Treatment::kFloat;
    if (node.inputs.empty() || !is_float(node.inputs[0])) {
      if (!is_elementwise(node.type))
        return rule->kind == Treatment::kConstant ? rule->kind : Treatment::kFloat;
    }
    const auto& attributes = model_.content_of(node).attributes;
    const auto word = [&](std::string_view name) {
      const auto found = attributes.find(name);
      const auto* text =
          found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
      return text == nullptr ? std::string() : *text;
    };
    if ((node.type == "Resize" || node.type == "Upsample") && word("mode") == "nearest")
      return Treatment::kPassive;
    return rule->kind;
  }

  // Arithmetic around what is left in float (the square root of a normalisation, the exponential of
  // boxes) stays float, too.
  void leave_arithmetic_float() {
    const auto is_left = [&](size_t node) {
      return kinds_[node] == Treatment::kFloat && gives_floats(graph_.nodes[node]) &&
             !is_one_of(graph_.nodes[node].type, {"Softmax", "LogSoftmax", "Cast"});
    };
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const OnnxNode& node = graph_.nodes[i];
      if (kinds_[i] != Treatment::kLayer || !is_elementwise(node.type)) continue;
      bool is_near = false;
      for (const std::string_view name : node.inputs)
        if (const auto producer = wiring_.producer_of(name)) is_near |= is_left(*producer);
      for (const std::string_view name : node.outputs)
        for (const size_t reader : readers_[name])
          is_near |= is_left(reader) && !is_elementwise(graph_.nodes[reader].type) &&
                     is_one_of(graph_.nodes[reader].type,
                               {"Pow", "Sqrt", "Exp", "Erf", "Log", "Reciprocal"});
      if (is_near) kinds_[i] = Treatment::kFloat;
    }
  }

  bool is_read_once(std::string_view tensor) const {
    const auto found = readers_.find(tensor);
    return found != readers_.end() && found->second.size() == 1 && !outputs_.contains(tensor);
  }

  // A Relu or Clip joins what computes its input; x * Sigmoid(x) is one operator.
  void fuse() {
    leader_.resize(graph_.nodes.size());
    std::iota(leader_.begin(), leader_.end(), size_t{0});
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const OnnxNode& node = graph_.nodes[i];
      if (kinds_[i] != Treatment::kLayer) continue;
      if (is_one_of(node.type, {"Relu", "Clip"})) {
        const auto producer = wiring_.producer_of(node.inputs[0]);
        if (producer && kinds_[*producer] == Treatment::kLayer && leader_[*producer] == *producer &&
            is_read_once(node.inputs[0]) &&
            is_one_of(graph_.nodes[*producer].type,
                      {"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Sum", "Mul"}))
          leader_[i] = *producer;
      }
      if (node.type == "Mul" && node.inputs.size() == 2)
        for (const size_t k : {size_t{0}, size_t{1}}) {
          const auto gate = wiring_.producer_of(node.inputs[k]);
          if (gate && is_one_of(graph_.nodes[*gate].type, {"Sigmoid", "HardSigmoid"}) &&
              kinds_[*gate] == Treatment::kLayer && is_read_once(node.inputs[k]) &&
              graph_.nodes[*gate].inputs[0] == node.inputs[1 - k])
            leader_[*gate] = i;
        }
    }
  }

  // From each output of the model backwards, through what rearranges or pools.
  void find_tail() {
    is_tail_node_.resize(graph_.nodes.size());
    if (options_.quantize_outputs) return;
    std::vector<std::string_view> open(outputs_.begin(), outputs_.end());
    while (!open.empty()) {
      const std::string_view tensor = open.back();
      open.pop_back();
      if (!tail_.insert(tensor).second) continue;
      const auto producer = wiring_.producer_of(tensor);
      if (!producer || is_tail_node_[*producer]) continue;
      const OnnxNode& node = graph_.nodes[*producer];
      if (kinds_[*producer] != Treatment::kPassive && kinds_[*producer] != Treatment::kConcat &&
          !is_one_of(node.type, {"AveragePool", "GlobalAveragePool", "ReduceMean", "Softmax",
                                 "LogSoftmax", "Sigmoid", "Cast"}))
        continue;
      is_tail_node_[*producer] = true;
      for (const std::string_view input : node.inputs)
        if (is_float(input) && !is_constant(input)) open.push_back(input);
    }
  }

  void add_layers() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const OnnxNode& node = graph_.nodes[i];
      const bool is_layer = kinds_[i] == Treatment::kLayer || kinds_[i] == Treatment::kConcat;
      if (!is_layer || leader_[i] != i) continue;
      if (kinds_[i] == Treatment::kLayer && data_inputs(node, kinds_[i]).empty()) continue;
      Layer& layer = plan_.layers.emplace_back();
      layer.name = model_.layer_name(node);
      layer.type = node.type;
      layer.node = i;
      layer.weight = weight_of(node);
      layer.is_tail = is_tail_node_[i];
      layer.output_tensor = node.outputs[0];
      for (size_t k = 0; k < graph_.nodes.size(); ++k) {
        if (k == i || leader_[k] != i) continue;
        layer.fused.push_back(k);
        // What comes behind gives the result; the gate of x * Sigmoid(x) comes before.
        if (k > i) layer.output_tensor = graph_.nodes[k].outputs[0];
      }
      if (layer.type == "Mul" && !layer.fused.empty() && layer.fused.front() < i)
        layer.type = graph_.nodes[layer.fused.front()].type == "Sigmoid" ? "SiLU" : "HardSwish";
    }
  }

  std::optional<LayerWeight> weight_of(const OnnxNode& node) const {
    if (!is_one_of(node.type, {"Conv", "ConvTranspose", "Gemm", "MatMul"})) return std::nullopt;
    const graph::ConstantTensor* constant = model_.constant(node, 1);
    if (constant == nullptr || constant->shape().size() < 2 || constant->elements() == 0)
      return std::nullopt;
    LayerWeight weight;
    weight.shape = constant->shape();
    const int64_t rank = std::ssize(weight.shape);
    if (node.type == "ConvTranspose") weight.axis = 1;
    if (node.type == "Gemm") weight.axis = model_.number_of(node, "transB", 0) != 0 ? 0 : 1;
    if (node.type == "MatMul") weight.axis = rank - 1;
    if (node.type == "MatMul" || node.inputs.size() < 3 || node.inputs[2].empty()) return weight;
    const graph::ConstantTensor* bias = model_.constant(node, 2);
    if (bias == nullptr) return weight;
    weight.bias = 2;
    const int64_t channels =
        weight.shape[static_cast<size_t>(weight.axis)] *
        (node.type == "ConvTranspose" ? model_.number_of(node, "group", 1) : 1);
    weight.is_shared_bias = bias->elements() != channels;
    return weight;
  }

  // ---- tensors that share a grid ----

  size_t root(size_t tensor) {
    while (parent_[tensor] != tensor) tensor = parent_[tensor] = parent_[parent_[tensor]];
    return tensor;
  }
  size_t number(std::string_view tensor) {
    const auto [found, is_new] = numbers_.try_emplace(tensor, tensors_.size());
    if (is_new) {
      parent_.push_back(tensors_.size());
      tensors_.push_back(tensor);
    }
    return found->second;
  }
  void join(std::string_view a, std::string_view b) {
    const size_t first = root(number(a)), second = root(number(b));
    parent_[std::max(first, second)] = std::min(first, second);
  }

  bool passes(size_t node) const { return kinds_[node] == Treatment::kPassive; }

  void add_quantizers() {
    for (const graph::OnnxValue& input : graph_.inputs)
      if (is_float(input.name)) number(input.name);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const OnnxNode& node = graph_.nodes[i];
      const auto inputs = data_inputs(node, kinds_[i]);
      if (passes(i) && !inputs.empty())
        for (const std::string_view output : node.outputs)
          if (!output.empty() && is_float(output)) join(inputs[0], output);
      if (kinds_[i] == Treatment::kConcat && options_.align_concat && !is_tail_node_[i])
        for (const std::string_view input : inputs) join(input, node.outputs[0]);
    }
    for (size_t i = 0; i < plan_.layers.size(); ++i) connect(i);
    for (Quantizer& quantizer : plan_.quantizers) finish(quantizer);
  }

  size_t quantizer_of(std::string_view tensor) {
    const size_t group = root(number(tensor));
    const auto [found, is_new] = quantizers_.try_emplace(group, plan_.quantizers.size());
    if (is_new) plan_.quantizers.emplace_back();
    return found->second;
  }

  void connect(size_t place) {
    Layer& layer = plan_.layers[place];
    const auto add = [](std::vector<size_t>& list, size_t item) {
      if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
    };
    for (const std::string_view input : data_inputs(graph_.nodes[layer.node], Treatment::kLayer)) {
      const auto producer = wiring_.producer_of(input);
      if (producer && leader_[*producer] == layer.node) continue;  // the gate
      add(layer.inputs, quantizer_of(input));
    }
    layer.output = quantizer_of(layer.output_tensor);
    for (const size_t input : layer.inputs) add(plan_.quantizers[input].consumers, place);
    add(plan_.quantizers[*layer.output].producers, place);
  }

  // The tensors of each, in the order in which they were met.
  void finish(Quantizer& quantizer) {
    const auto own = static_cast<size_t>(&quantizer - plan_.quantizers.data());
    bool is_tail = false, is_read = false;
    std::optional<Range> fixed;
    bool is_fixed = true;
    for (const std::string_view tensor : tensors_) {
      const auto found = quantizers_.find(root(numbers_[tensor]));
      if (found == quantizers_.end() || found->second != own) continue;
      is_tail |= tail_.contains(tensor);
      const auto producer = wiring_.producer_of(tensor);
      const bool is_joined = producer && kinds_[*producer] == Treatment::kConcat &&
                             options_.align_concat && !is_tail_node_[*producer];
      if (producer && (passes(*producer) || is_joined)) {
        quantizer.passed.emplace_back(tensor);
        continue;
      }
      quantizer.tensors.emplace_back(tensor);
      const auto range = producer ? range_by_nature(*producer) : std::nullopt;
      is_fixed &= range && (!fixed || *fixed == *range);
      fixed = range;
    }
    for (const size_t consumer : quantizer.consumers) is_read |= !plan_.layers[consumer].is_tail;
    quantizer.is_tail = is_tail && !is_read;
    if (is_fixed && !quantizer.tensors.empty()) quantizer.fixed = fixed;
  }

  std::optional<Range> range_by_nature(size_t node) const {
    const OnnxNode& own = graph_.nodes[node];
    if (!own.is_standard()) return std::nullopt;
    if (is_one_of(own.type, {"Softmax", "Sigmoid", "HardSigmoid"})) return Range{0, 1};
    if (own.type == "Tanh") return Range{-1, 1};
    return std::nullopt;
  }

  const PreparedModel& model_;
  const graph::OnnxGraph& graph_;
  const engine::InferredTypes& types_;
  const PlanOptions& options_;
  const graph::Wiring wiring_;
  std::unordered_map<std::string_view, std::vector<size_t>> readers_;
  std::set<std::string_view> outputs_;
  std::vector<Treatment> kinds_;
  std::vector<size_t> leader_;  // by node: that of its layer
  std::vector<bool> is_tail_node_;
  std::unordered_set<std::string_view> tail_;
  std::vector<std::string_view> tensors_;
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<size_t> parent_;
  std::unordered_map<size_t, size_t> quantizers_;  // by root
  Plan plan_;
};

}  // namespace

std::optional<size_t> Plan::find_layer(std::string_view name) const {
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].name == name) return i;
  return std::nullopt;
}

Plan make_plan(const PreparedModel& model, const engine::InferredTypes& types,
               const PlanOptions& options) {
  return Planner(model, types, options).plan();
}

std::vector<std::string> tensors_of(const graph::OnnxModel& model) {
  std::vector<std::string> tensors;
  for (const graph::OnnxNode& node : model.graph.nodes)
    for (const std::string_view output : node.outputs)
      if (!output.empty()) tensors.emplace_back(output);
  return tensors;
}

}  // namespace plumb::quant
