// SPDX-License-Identifier: Apache-2.0
#include "quant/build.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/onnx_build.h"
#include "graph/onnx_edit.h"

namespace plumb::quant {
namespace {

using graph::OnnxModel;
using graph::OnnxNode;

constexpr std::string_view kMicrosoft = "com.microsoft";

class Builder {
 public:
  Builder(const PreparedModel& prepared, const Plan& plan, const Quantization& quantization,
          Form form)
      : prepared_(prepared),
        plan_(plan),
        quantization_(quantization),
        form_(form),
        model_(prepared.model),
        names_(graph::names_in(model_.graph)),
        opset_(opset_of(model_)) {}

  Result<BuiltModel> build() {
    // By name from now on: places move when nodes are put between.
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      if (auto done = set_weights(i); !done) return done.error();
    for (size_t i = 0; i < plan_.quantizers.size(); ++i)
      if (auto done = add_grid(i); !done) return done.error();
    return BuiltModel{written(), std::move(rounded_)};
  }

  Result<IsolatedLayers> build_alone() {
    IsolatedLayers made;
    for (auto& outputs : made.outputs) outputs.resize(plan_.layers.size());
    for (size_t i = 0; i < plan_.layers.size(); ++i)
      for (const Part part : {Part::kBoth, Part::kWeights, Part::kActivations}) {
        auto output = add_copy(i, part);
        if (!output) return output.error();
        made.outputs[static_cast<size_t>(part)][i] = std::move(*output);
      }
    made.file = written();
    return made;
  }

 private:
  std::string written() {
    drop_unread(model_);
    if (uses_microsoft_) graph::import_opset(model_, kMicrosoft, 1);
    return graph::write_onnx(model_);
  }

  // ---- copies of layers, behind all else ----

  // The name of the rounded output; empty if there is nothing to round in this part.
  Result<std::string> add_copy(size_t place, Part part) {
    const Layer& layer = plan_.layers[place];
    const auto& weight = quantization_.weights[place];
    const bool with_weights = part != Part::kActivations && weight;
    const bool with_activations = part != Part::kWeights;
    std::map<std::string, std::string, std::less<>> names;
    bool is_rounded = with_weights;
    if (with_activations)
      for (const std::string_view input : prepared_.node(layer.node).inputs) {
        auto rounded = rounded_copy(std::string(input));
        if (!rounded) return rounded.error();
        if (rounded->empty()) continue;
        names[std::string(input)] = *rounded;
        is_rounded = true;
      }
    const auto& output = layer.output ? quantization_.activations[*layer.output] : std::nullopt;
    is_rounded |= with_activations && output;
    if (!is_rounded) return std::string();
    std::vector<size_t> nodes = layer.fused;
    nodes.push_back(layer.node);
    std::sort(nodes.begin(), nodes.end());
    for (const size_t node : nodes)
      if (auto done = add_node(layer, node, with_weights ? &*weight : nullptr, names); !done)
        return done.error();
    const std::string result = names[layer.output_tensor];
    if (!with_activations || !output) return result;
    return add_rounding(result, *output);
  }

  // What a tensor of the float model is on its grid, made once; empty if it has none.
  Result<std::string> rounded_copy(const std::string& tensor) {
    const auto [found, is_new] = copies_.try_emplace(tensor);
    if (!is_new) return found->second;
    for (size_t i = 0; i < plan_.quantizers.size(); ++i) {
      const auto& activation = quantization_.activations[i];
      const Quantizer& own = plan_.quantizers[i];
      const auto has = [&](const std::vector<std::string>& list) {
        return std::find(list.begin(), list.end(), tensor) != list.end();
      };
      if (!activation || (!has(own.tensors) && !has(own.passed))) continue;
      auto rounded = add_rounding(tensor, *activation);
      if (!rounded) return rounded.error();
      found->second = *rounded;
      break;
    }
    return found->second;
  }

  Result<std::string> add_rounding(const std::string& tensor, const ActivationGrid& activation) {
    auto scale = add_floats(tensor + "_scale", {}, std::span(&activation.grid.scale, 1));
    if (!scale) return scale.error();
    auto zero = add_weight(tensor + "_zero_point", activation.dtype, {},
                           packed(std::span(&activation.grid.zero, 1), activation.dtype));
    if (!zero) return zero.error();
    const std::string given = names_.claim(tensor + "_rounded");
    auto pair = quantizing_pair(tensor, given, tensor, *scale, *zero, activation.dtype);
    if (!pair) return pair.error();
    std::move(pair->begin(), pair->end(), std::back_inserter(model_.graph.nodes));
    return given;
  }

  // `names` are those of the copy's tensors, by those of the model.
  Result<void> add_node(const Layer& layer, size_t place, const QuantizedWeight* weight,
                        std::map<std::string, std::string, std::less<>>& names) {
    const OnnxNode& old = prepared_.node(place);
    graph::OnnxNodeParts parts{.type = std::string(old.type),
                               .inputs = {old.inputs.begin(), old.inputs.end()},
                               .outputs = {old.outputs.begin(), old.outputs.end()},
                               .attributes = {},
                               .copied = graph::attributes_of(old),
                               .name = names_.claim(old.name + "_alone"),
                               .domain = std::string(old.domain)};
    for (std::string& input : parts.inputs)
      if (const auto found = names.find(input); found != names.end()) input = found->second;
    for (std::string& output : parts.outputs) {
      if (output.empty()) continue;
      const std::string own = names_.claim(output + "_alone");
      names[output] = own;
      output = own;
    }
    if (weight != nullptr && place == layer.node) {
      auto added = add_floats(old.name + "_weight", weight->shape, weight->numbers());
      if (!added) return added.error();
      parts.inputs[layer.weight->input] = *added;
    }
    auto made = graph::make_node(model_, parts);
    if (!made) return made.error();
    model_.graph.nodes.push_back(std::move(*made));
    return {};
  }

  // ---- the model itself ----

  // Operators of ONNX itself know 16 and 4 bits, and scales by channel, only since these versions.
  std::string domain_for(DType dtype, bool by_channel) {
    const bool is_wide = dtype != DType::kInt8 && dtype != DType::kUint8 && dtype != DType::kInt32;
    const int64_t since = is_wide ? 21 : by_channel ? 13 : 10;
    if (opset_ >= since) return {};
    uses_microsoft_ = true;
    return std::string(kMicrosoft);
  }

  Result<std::string> add_weight(const std::string& name, DType dtype, const Shape& shape,
                                 Bytes bytes) {
    std::string claimed = names_.claim(name);
    auto weight = graph::make_weight(model_, claimed, {dtype, shape, bytes});
    if (!weight) return weight.error();
    model_.graph.initializers.push_back(std::move(*weight));
    return claimed;
  }

  Result<std::string> add_floats(const std::string& name, const Shape& shape,
                                 std::span<const float> values) {
    return add_weight(name, DType::kFloat32, shape, std::as_bytes(values));
  }

  Result<void> set_weights(size_t place) {
    const Layer& layer = plan_.layers[place];
    if (!layer.weight) return {};
    const std::string node = prepared_.node(layer.node).name;
    const auto& weight = quantization_.weights[place];
    const LayerValues& values = quantization_.values[place];
    if (!weight && !values.is_changed) return {};
    const std::string name(prepared_.node(layer.node).inputs[layer.weight->input]);
    if (weight && weight->blocked && form_ == Form::kQdq) return set_blocks(node, name, *weight);
    if (weight && form_ == Form::kQdq) {
      if (auto done = set_integers(node, layer, name, *weight); !done) return done;
    } else {
      auto added = add_floats(name + "_rounded", layer.weight->shape,
                              weight ? weight->numbers() : values.weights);
      if (!added) return added.error();
      if (auto done = set_input(node, layer.weight->input, *added); !done) return done;
    }
    return set_bias(node, layer, values, weight);
  }

  Result<void> set_integers(const std::string& node, const Layer& layer, const std::string& name,
                            const QuantizedWeight& weight) {
    auto integers = add_weight(name + "_quantized", weight.dtype, weight.shape,
                               packed(weight.values.integers, weight.dtype));
    if (!integers) return integers.error();
    std::vector<float> scales;
    for (const Grid& grid : weight.values.grids) scales.push_back(grid.scale);
    const bool by_channel = scales.size() > 1 || weight.axis;
    auto dequantized = add_dequantize(*integers, name, weight.dtype, scales,
                                      by_channel ? weight.axis : std::nullopt);
    if (!dequantized) return dequantized.error();
    return set_input(node, layer.weight->input, *dequantized);
  }

  // MatMulNBits of ONNX Runtime: a column's blocks lie side by side, two integers in a byte, which
  // are counted from 8.
  Result<void> set_blocks(const std::string& node, const std::string& name,
                          const QuantizedWeight& weight) {
    const BlockedWeight& blocked = *weight.blocked;
    const int64_t bytes = blocked.block / 2;
    std::vector<std::byte> data(static_cast<size_t>(blocked.columns * blocked.blocks() * bytes),
                                std::byte{0x88});
    for (int64_t row = 0; row < blocked.rows; ++row)
      for (int64_t column = 0; column < blocked.columns; ++column) {
        const auto at = static_cast<size_t>(column * blocked.blocks() * bytes + row / 2);
        const auto nibble = static_cast<std::byte>(
            blocked.integers[static_cast<size_t>(row * blocked.columns + column)] + 8);
        const int shift = row % 2 == 0 ? 0 : 4;
        data[at] = (data[at] & ~(std::byte{0xf} << shift)) | nibble << shift;
      }
    auto integers = add_weight(name + "_blocks", DType::kUint8,
                               {blocked.columns, blocked.blocks(), bytes}, data);
    if (!integers) return integers.error();
    auto scales = add_floats(name + "_scales", {std::ssize(blocked.scales)}, blocked.scales);
    if (!scales) return scales.error();
    auto place = graph::find_node(model_, node);
    if (!place) return place.error();
    const OnnxNode& old = model_.graph.nodes[*place];
    auto made =
        graph::make_node(model_, {.type = "MatMulNBits",
                                  .inputs = {std::string(old.inputs[0]), *integers, *scales},
                                  .outputs = {std::string(old.outputs[0])},
                                  .attributes = {{"K", blocked.rows},
                                                 {"N", blocked.columns},
                                                 {"bits", int64_t{4}},
                                                 {"block_size", blocked.block}},
                                  .copied = {},
                                  .name = old.name,
                                  .domain = std::string(kMicrosoft)});
    if (!made) return made.error();
    uses_microsoft_ = true;
    graph::replace_node(model_, *place, {std::move(*made)});
    return {};
  }

  // At the front, since it reads nothing that is computed. Returns what it gives.
  Result<std::string> add_dequantize(const std::string& integers, const std::string& name,
                                     DType dtype, std::span<const float> scales,
                                     std::optional<int64_t> axis) {
    const Shape shape = axis ? Shape{std::ssize(scales)} : Shape{};
    auto scale = add_floats(name + "_scale", shape, scales);
    if (!scale) return scale.error();
    const std::vector<int32_t> zeros(scales.size());
    auto zero = add_weight(name + "_zero_point", dtype, shape, packed(zeros, dtype));
    if (!zero) return zero.error();
    graph::OnnxNodeParts parts{.type = "DequantizeLinear",
                               .inputs = {integers, *scale, *zero},
                               .outputs = {names_.claim(name + "_dequantized")},
                               .name = names_.claim(name + "_DequantizeLinear"),
                               .domain = domain_for(dtype, axis.has_value())};
    if (axis) parts.attributes = {{"axis", *axis}};
    auto made = graph::make_node(model_, parts);
    if (!made) return made.error();
    model_.graph.nodes.insert(model_.graph.nodes.begin(), std::move(*made));
    return parts.outputs[0];
  }

  Result<void> set_bias(const std::string& node, const Layer& layer, const LayerValues& values,
                        const std::optional<QuantizedWeight>& weight) {
    if (values.bias.empty()) return {};
    const std::string name = prepared_.node(layer.node).name + "_bias";
    Shape shape{std::ssize(values.bias)};
    if (layer.weight->bias)
      shape = prepared_.constant(prepared_.node(layer.node), *layer.weight->bias)->shape();
    const size_t input = layer.weight->bias.value_or(2);
    Result<std::string> added = Error{};
    if (!weight || weight->bias.empty()) {
      added = add_floats(name, shape, values.bias);
    } else if (form_ == Form::kFakeQuant || shape.size() != 1) {
      std::vector<float> numbers;
      for (size_t c = 0; c < weight->bias.size(); ++c)
        numbers.push_back(static_cast<float>(weight->bias[c]) * weight->bias_scales[c]);
      added = add_floats(name, shape, numbers);
    } else {
      auto integers = add_weight(name + "_quantized", DType::kInt32, shape,
                                 packed(weight->bias, DType::kInt32));
      if (!integers) return integers.error();
      added = add_dequantize(*integers, name, DType::kInt32, weight->bias_scales, 0);
    }
    if (!added) return added.error();
    return set_input(node, input, *added);
  }

  Result<void> set_input(const std::string& node, size_t input, const std::string& tensor) {
    auto place = graph::find_node(model_, node);
    if (!place) return place.error();
    const OnnxNode& old = model_.graph.nodes[*place];
    if (input < old.inputs.size() && !old.inputs[input].empty()) {
      const graph::OnnxReader reader{*place, input};
      return graph::rewire(model_, std::span(&reader, 1), old.inputs[input], tensor);
    }
    // A bias where none was.
    graph::OnnxNodeParts parts{.type = std::string(old.type),
                               .inputs = {old.inputs.begin(), old.inputs.end()},
                               .outputs = {old.outputs.begin(), old.outputs.end()},
                               .attributes = {},
                               .copied = graph::attributes_of(old),
                               .name = old.name,
                               .domain = std::string(old.domain)};
    parts.inputs.resize(std::max(parts.inputs.size(), input + 1));
    parts.inputs[input] = tensor;
    auto made = graph::make_node(model_, parts);
    if (!made) return made.error();
    graph::replace_node(model_, *place, {std::move(*made)});
    return {};
  }

  Result<void> add_grid(size_t place) {
    const auto& activation = quantization_.activations[place];
    if (!activation) return {};
    const Quantizer& quantizer = plan_.quantizers[place];
    const std::string& name = quantizer.name();
    auto scale = add_floats(name + "_scale", {}, std::span(&activation->grid.scale, 1));
    if (!scale) return scale.error();
    auto zero = add_weight(name + "_zero_point", activation->dtype, {},
                           packed(std::span(&activation->grid.zero, 1), activation->dtype));
    if (!zero) return zero.error();
    for (const std::string& tensor : quantizer.tensors)
      if (auto done = round(tensor, *scale, *zero, activation->dtype); !done) return done;
    if (form_ == Form::kQdq)
      for (const std::string& tensor : quantizer.passed)
        if (auto done = round(tensor, *scale, *zero, activation->dtype); !done) return done;
    return {};
  }

  // Everybody who reads the tensor reads it rounded. An output of the model is rounded, too, unless
  // it is there beside readers.
  Result<void> round(const std::string& tensor, const std::string& scale, const std::string& zero,
                     DType dtype) {
    const auto readers = graph::readers_of(model_, tensor);
    const bool is_output =
        std::any_of(model_.graph.outputs.begin(), model_.graph.outputs.end(),
                    [&](const graph::OnnxValue& output) { return output.name == tensor; });
    if (readers.empty() && !is_output) return {};
    const graph::Wiring wiring(model_.graph);
    const auto producer = wiring.producer_of(tensor);
    if (readers.empty() && !producer) return {};
    const std::string read = readers.empty() ? names_.claim(tensor + "_float") : tensor;
    const std::string given = readers.empty() ? tensor : names_.claim(tensor + "_dequantized");
    rounded_[tensor] = given;
    auto pair = quantizing_pair(read, given, tensor, scale, zero, dtype);
    if (!pair) return pair.error();
    if (!readers.empty()) {
      auto done = graph::insert_nodes(model_, std::move(*pair), tensor, readers, given);
      if (!done) return done.error();
      return {};
    }
    auto renamed = graph::with_names(model_, model_.graph.nodes[*producer], {{tensor, read}});
    if (!renamed) return renamed.error();
    renamed->name = model_.graph.nodes[*producer].name;
    std::vector<OnnxNode> nodes{std::move(*renamed)};
    std::move(pair->begin(), pair->end(), std::back_inserter(nodes));
    graph::replace_node(model_, *producer, std::move(nodes));
    return {};
  }

  Result<std::vector<OnnxNode>> quantizing_pair(const std::string& read, const std::string& given,
                                                const std::string& tensor, const std::string& scale,
                                                const std::string& zero, DType dtype) {
    const std::string integers = names_.claim(tensor + "_quantized");
    const std::string domain = domain_for(dtype, false);
    std::vector<OnnxNode> nodes;
    for (const bool is_first : {true, false}) {
      const std::string type = is_first ? "QuantizeLinear" : "DequantizeLinear";
      auto node = graph::make_node(model_, {.type = type,
                                            .inputs = {is_first ? read : integers, scale, zero},
                                            .outputs = {is_first ? integers : given},
                                            .attributes = {},
                                            .copied = {},
                                            .name = names_.claim(tensor + "_" + type),
                                            .domain = domain});
      if (!node) return node.error();
      nodes.push_back(std::move(*node));
    }
    return nodes;
  }

  const PreparedModel& prepared_;
  const Plan& plan_;
  const Quantization& quantization_;
  const Form form_;
  OnnxModel model_;
  graph::UniqueNames names_;
  const int64_t opset_;
  bool uses_microsoft_ = false;
  std::map<std::string, std::string, std::less<>> rounded_;  // see BuiltModel
  std::map<std::string, std::string, std::less<>> copies_;   // see rounded_copy
};

}  // namespace

Result<BuiltModel> build_quantized(const PreparedModel& model, const Plan& plan,
                                   const Quantization& quantization, Form form) {
  return Builder(model, plan, quantization, form).build();
}

Result<IsolatedLayers> build_isolated(const PreparedModel& model, const Plan& plan,
                                      const Quantization& quantization) {
  return Builder(model, plan, quantization, Form::kFakeQuant).build_alone();
}

}  // namespace plumb::quant
