// SPDX-License-Identifier: Apache-2.0
//
// A convolution as it is, and with its weights and its input quantized: what the builder makes, for
// tests that check it and tests that run it.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "graph/onnx_build.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_wiring.h"

namespace plumb::graph {

inline constexpr std::array<float, 18> kConvWeights = {
    0.5f, -1,    0.25f, 1, 0.125f, -0.75f, 0.3f, 0.9f, -0.2f,    // first channel
    2,    -3.5f, 4,     1, 0.01f,  -2.2f,  3,    1.7f, -0.03f};  // second channel
inline constexpr std::array<float, 2> kConvScales = {1 / 127.0f, 4 / 127.0f};
inline constexpr float kInputScale = 0.05f;
inline constexpr int8_t kInputZero = -3;

template <class T>
OnnxTensor tensor_of(DType dtype, Shape shape, const T& values) {
  return {dtype, std::move(shape), std::as_bytes(std::span(values))};
}

template <class T>
void add(std::vector<T>& list, Result<T> part) {
  ASSERT_TRUE(part.ok()) << part.error().what << ": " << part.error().where;
  list.push_back(std::move(*part));
}

// x -> Conv -> Relu -> y
inline OnnxModel conv_model(const std::array<float, 18>& weights = kConvWeights) {
  OnnxModel model;
  OnnxGraph& graph = model.graph;
  model.ir_version = 8;
  import_opset(model, "", 13);
  graph.name = model.keep("conv");
  add(graph.inputs, make_value(model, "x", {DType::kFloat32, Shape{-1, 1, 4, 4}}));
  add(graph.outputs, make_value(model, "y", {DType::kFloat32, Shape{-1, 2, 4, 4}}));
  add(graph.initializers,
      make_weight(model, "w", tensor_of(DType::kFloat32, {2, 1, 3, 3}, weights)));
  add(graph.nodes, make_node(model, {.type = "Conv",
                                     .inputs = {"x", "w"},
                                     .outputs = {"c"},
                                     .attributes = {{"pads", std::vector<int64_t>{1, 1, 1, 1}},
                                                    {"group", 1},
                                                    {"auto_pad", "NOTSET"}},
                                     .name = "conv"}));
  add(graph.nodes, make_node(model, {.type = "Relu", .inputs = {"c"}, .outputs = {"y"}}));
  return model;
}

inline std::array<int8_t, 18> quantized_weights() {
  std::array<int8_t, 18> quantized{};
  for (size_t i = 0; i < quantized.size(); ++i)
    quantized[i] = static_cast<int8_t>(std::nearbyint(kConvWeights[i] / kConvScales[i / 9]));
  return quantized;
}

// The weights become integers and a DequantizeLinear of the old name, for each channel; on the way
// from x to the convolution stand a QuantizeLinear and a DequantizeLinear.
inline void quantize(OnnxModel& model) {
  OnnxGraph& graph = model.graph;
  UniqueNames names = names_in(graph);
  const std::string weight = names.claim("w"), scale = names.claim("w"), zero = names.claim("w"),
                    input_scale = names.claim("x_scale"), input_zero = names.claim("x_zero"),
                    q = names.claim("x_q"), dq = names.claim("x_dq");
  const std::array<int8_t, 18> quantized = quantized_weights();
  const std::array<int8_t, 2> zeros{};
  graph.initializers.clear();
  add(graph.initializers,
      make_weight(model, weight, tensor_of(DType::kInt8, {2, 1, 3, 3}, quantized)));
  add(graph.initializers, make_weight(model, scale, tensor_of(DType::kFloat32, {2}, kConvScales)));
  add(graph.initializers, make_weight(model, zero, tensor_of(DType::kInt8, {2}, zeros)));
  add(graph.initializers,
      make_weight(model, input_scale,
                  tensor_of(DType::kFloat32, {}, std::array<float, 1>{kInputScale})));
  add(graph.initializers,
      make_weight(model, input_zero, tensor_of(DType::kInt8, {}, std::array{kInputZero})));
  auto weights = make_node(model, {.type = "DequantizeLinear",
                                   .inputs = {weight, scale, zero},
                                   .outputs = {"w"},
                                   .attributes = {{"axis", 0}}});
  ASSERT_TRUE(weights.ok());
  graph.nodes.insert(graph.nodes.begin(), *weights);

  std::vector<OnnxNode> nodes;
  add(nodes, make_node(model, {.type = "QuantizeLinear",
                               .inputs = {"x", input_scale, input_zero},
                               .outputs = {q}}));
  add(nodes, make_node(model, {.type = "DequantizeLinear",
                               .inputs = {q, input_scale, input_zero},
                               .outputs = {dq}}));
  const auto inserted = insert_nodes(model, std::move(nodes), "x", readers_of(model, "x"), dq);
  ASSERT_TRUE(inserted.ok()) << inserted.error().where;
}

}  // namespace plumb::graph
