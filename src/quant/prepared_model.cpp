// SPDX-License-Identifier: Apache-2.0
#include "quant/prepared_model.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/onnx_build.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_external.h"

namespace plumb::quant {
namespace {

using graph::OnnxModel;
using graph::OnnxNode;

// The content of what the model is by now.
Result<void> read_again(PreparedModel& prepared) {
  prepared.file = graph::write_onnx(prepared.model);
  auto model = graph::read_onnx(as_bytes(prepared.file));
  if (!model) return model.error();
  auto content = graph::content_from_onnx(as_bytes(prepared.file), {});
  if (!content) return content.error();
  prepared.model = std::move(*model);
  prepared.content = std::move(*content);
  prepared.content_places.clear();
  const auto& operators = prepared.content.graph.operators;
  for (size_t i = 0; i < operators.size(); ++i)
    if (operators[i].subgraph.empty()) prepared.content_places.try_emplace(operators[i].name, i);
  return {};
}

Result<void> remove_idle(PreparedModel& prepared) {
  OnnxModel& model = prepared.model;
  for (size_t i = 0; i < model.graph.nodes.size();) {
    const OnnxNode& node = model.graph.nodes[i];
    const bool is_idle = node.is_standard() && (node.type == "Identity" || node.type == "Dropout");
    if (!is_idle || std::any_of(node.outputs.begin(), node.outputs.end(),
                                [&](auto output) { return is_model_output(model, output); })) {
      ++i;
      continue;
    }
    const std::string name = node.name;
    if (auto removed = graph::remove_node(model, i); removed)
      prepared.notes.push_back(fmt::format("{} does nothing and was taken out", name));
    else
      ++i;  // somebody reads its mask
  }
  return {};
}

// Per output channel: times `factor`, plus `offset`.
struct ChannelAffine {
  std::vector<double> factor, offset;
};

std::optional<ChannelAffine> affine_of(const PreparedModel& prepared, const OnnxNode& node) {
  if (node.type != "BatchNormalization" || !node.is_standard()) return std::nullopt;
  if (node.outputs.size() > 1 || node.inputs.size() != 5) return std::nullopt;
  std::vector<double> parts[4];
  for (size_t i = 0; i < 4; ++i) {
    const graph::ConstantTensor* part = prepared.constant(node, i + 1);
    if (part == nullptr) return std::nullopt;
    parts[i] = part->all();
    if (parts[i].size() != parts[0].size()) return std::nullopt;
  }
  const auto& attributes = prepared.content_of(node).attributes;
  const auto found = attributes.find("epsilon");
  const auto epsilon = found == attributes.end()
                           ? std::vector<double>{1e-5}
                           : graph::numbers_of(found->second).value_or(std::vector<double>{});
  if (epsilon.size() != 1) return std::nullopt;
  ChannelAffine affine;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    affine.factor.push_back(parts[0][c] / std::sqrt(parts[3][c] + epsilon[0]));
    affine.offset.push_back(parts[1][c] - parts[2][c] * affine.factor[c]);
  }
  return affine;
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(PreparedModel& prepared)
      : prepared_(prepared), model_(prepared.model), names_(graph::names_in(model_.graph)) {}

  Result<void> fold() {
    for (size_t i = 0; i < model_.graph.nodes.size();) {
      auto done = fold_node(i);
      if (!done) return done.error();
      if (!*done) ++i;  // else one before it is gone
    }
    return {};
  }

 private:
  Result<bool> fold_node(size_t place) {
    const OnnxNode norm = model_.graph.nodes[place];
    const auto affine = affine_of(prepared_, norm);
    if (!affine) return false;
    const graph::Wiring wiring(model_.graph);
    const auto producer = wiring.producer_of(norm.inputs[0]);
    if (!producer || is_model_output(model_, norm.inputs[0]) ||
        graph::readers_of(model_, norm.inputs[0]).size() != 1)
      return false;
    const OnnxNode conv = model_.graph.nodes[*producer];
    if (conv.type != "Conv" || !conv.is_standard() || prepared_.layer_names.contains(conv.name))
      return false;  // what it is told is not in `content` yet
    const graph::ConstantTensor* weights = prepared_.constant(conv, 1);
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    const graph::ConstantTensor* bias = has_bias ? prepared_.constant(conv, 2) : nullptr;
    if (weights == nullptr || (has_bias && bias == nullptr) || weights->shape().empty() ||
        weights->shape()[0] != std::ssize(affine->factor))
      return false;
    return fold_into(*producer, conv, place, norm, *weights, bias, *affine);
  }

  Result<bool> fold_into(size_t conv_place, const OnnxNode& conv, size_t place,
                         const OnnxNode& norm, const graph::ConstantTensor& weights,
                         const graph::ConstantTensor* bias, const ChannelAffine& affine) {
    std::vector<double> numbers = weights.all();
    const size_t each = numbers.size() / affine.factor.size();
    std::vector<float> folded(numbers.size()), offset;
    for (size_t i = 0; i < numbers.size(); ++i)
      folded[i] = static_cast<float>(numbers[i] * affine.factor[i / each]);
    const std::vector<double> old = bias != nullptr ? bias->all() : std::vector<double>();
    for (size_t c = 0; c < affine.factor.size(); ++c)
      offset.push_back(
          static_cast<float>((old.empty() ? 0 : old[c]) * affine.factor[c] + affine.offset[c]));
    auto weight = add(std::string(conv.inputs[1]) + "_folded", weights.shape(), folded);
    if (!weight) return weight.error();
    auto added = add(norm.name + "_bias", {std::ssize(offset)}, offset);
    if (!added) return added.error();
    graph::OnnxNodeParts parts{.type = "Conv",
                               .inputs = {std::string(conv.inputs[0]), *weight, *added},
                               .outputs = {std::string(norm.outputs[0])},
                               .attributes = {},
                               .copied = graph::attributes_of(conv),
                               .name = norm.name,
                               .domain = std::string(conv.domain)};
    auto node = graph::make_node(model_, parts);
    if (!node) return node.error();
    prepared_.layer_names[norm.name] = conv.name;
    prepared_.notes.push_back(fmt::format("{} was folded into {}", norm.name, conv.name));
    graph::replace_node(model_, place, {std::move(*node)});
    graph::replace_node(model_, conv_place, {});
    return true;
  }

  Result<std::string> add(const std::string& name, const Shape& shape,
                          const std::vector<float>& values) {
    std::string claimed = names_.claim(name);
    auto weight = graph::make_weight(model_, claimed,
                                     {DType::kFloat32, shape, std::as_bytes(std::span(values))});
    if (!weight) return weight.error();
    model_.graph.initializers.push_back(std::move(*weight));
    return claimed;
  }

  PreparedModel& prepared_;
  OnnxModel& model_;
  graph::UniqueNames names_;
};

}  // namespace

const std::string& PreparedModel::layer_name(const OnnxNode& node) const {
  const auto found = layer_names.find(node.name);
  return found == layer_names.end() ? node.name : found->second;
}

const graph::OperatorContent& PreparedModel::content_of(const OnnxNode& node) const {
  static const graph::OperatorContent kNothing;
  const auto found = content_places.find(node.name);
  return found == content_places.end() ? kNothing : content.operators[found->second];
}

const graph::ConstantTensor* PreparedModel::constant(const OnnxNode& node, size_t input) const {
  const auto& operands = content_of(node).operands;
  if (input >= operands.size() || !operands[input].constant) return nullptr;
  const graph::ConstantTensor& found = *operands[input].constant;
  return kind_of(found.dtype()) == DKind::kFloat ? &found : nullptr;
}

int64_t PreparedModel::number_of(const OnnxNode& node, std::string_view attribute,
                                 int64_t otherwise) const {
  const auto& attributes = content_of(node).attributes;
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return otherwise;
  const auto* number = std::get_if<int64_t>(&found->second);
  return number == nullptr ? otherwise : *number;
}

Result<std::unique_ptr<PreparedModel>> prepare_model(Bytes file, const graph::DataPlace& place) {
  auto prepared = std::make_unique<PreparedModel>();
  auto model = graph::read_onnx(file);
  if (!model) return model.error();
  prepared->model = std::move(*model);
  if (auto done = graph::inline_external(prepared->model, place); !done) return done.error();
  graph::drop_weight_inputs(prepared->model);
  if (auto done = remove_idle(*prepared); !done) return done.error();
  if (auto done = read_again(*prepared); !done) return done.error();
  if (auto done = BatchNormFolder(*prepared).fold(); !done) return done.error();
  drop_unread(prepared->model);
  if (auto done = read_again(*prepared); !done) return done.error();
  return prepared;
}

std::vector<float> floats_of(const graph::ConstantTensor& constant) {
  const std::vector<double> numbers = constant.all();
  std::vector<float> floats(numbers.size());
  std::transform(numbers.begin(), numbers.end(), floats.begin(),
                 [](double number) { return static_cast<float>(number); });
  return floats;
}

void drop_unread(OnnxModel& model) {
  graph::OnnxGraph& graph = model.graph;
  std::unordered_set<std::string_view> read;
  for (const OnnxNode& node : graph.nodes)
    graph::each_read(node, [&](std::string_view name) { read.insert(name); });
  for (const graph::OnnxValue& output : graph.outputs) read.insert(output.name);
  std::erase_if(graph.initializers,
                [&](const graph::OnnxWeight& weight) { return !read.contains(weight.name); });
  std::erase_if(graph.nodes, [&](const OnnxNode& node) {
    return node.type == "Constant" && node.is_standard() && node.outputs.size() == 1 &&
           !read.contains(node.outputs[0]);
  });
}

bool is_model_output(const OnnxModel& model, std::string_view tensor) {
  return std::any_of(model.graph.outputs.begin(), model.graph.outputs.end(),
                     [&](const graph::OnnxValue& output) { return output.name == tensor; });
}

int64_t opset_of(const OnnxModel& model) {
  for (const graph::OnnxOpset& opset : graph::opsets_of(model))
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  return 1;
}

}  // namespace plumb::quant
