// SPDX-License-Identifier: Apache-2.0
//
// A model that was built and quantized node by node (see tests/graph/quantized_conv.h) computes
// what the convolution computes with numbers that were rounded before.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "graph/quantized_conv.h"

namespace plumb::engine {
namespace {

std::vector<float> run(Engine& engine, const graph::OnnxModel& model,
                       const std::vector<float>& input) {
  const std::string file = graph::write_onnx(model);
  const auto bytes = std::as_bytes(std::span(input));
  auto session = engine.open({as_bytes(file), {}, {}, {}}, {});
  EXPECT_TRUE(session.ok()) << session.error().where;
  std::vector<float> output;
  if (!session) return output;
  auto ran = (*session)->run(
      {{"x", {DType::kFloat32, {1, 1, 4, 4}, {bytes.begin(), bytes.end()}}}},
      [&](const Output& given) -> Result<void> {
        const auto* values = reinterpret_cast<const float*>(given.tensor->bytes.data());
        output.assign(values, values + given.tensor->bytes.size() / sizeof(float));
        return {};
      });
  EXPECT_TRUE(ran.ok()) << ran.error().where;
  return output;
}

TEST(BuiltModel, QuantizedConvolutionRounds) {
  auto engine = load_engine("onnxruntime");
  if (!engine) GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  std::vector<float> input, rounded;
  for (int i = 0; i < 16; ++i) {
    input.push_back(0.37f * static_cast<float>(i) - 3);
    const float q = std::nearbyint(input.back() / graph::kInputScale) + graph::kInputZero;
    rounded.push_back((std::clamp(q, -128.0f, 127.0f) - graph::kInputZero) * graph::kInputScale);
  }
  std::array<float, 18> weights{};
  const std::array<int8_t, 18> integers = graph::quantized_weights();
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(integers[i]) * graph::kConvScales[i / 9];

  graph::OnnxModel quantized = graph::conv_model();
  graph::quantize(quantized);
  const std::vector<float> got = run(**engine, quantized, input);
  EXPECT_EQ(got.size(), 32u);
  EXPECT_EQ(got, run(**engine, graph::conv_model(weights), rounded));
  EXPECT_NE(got, run(**engine, graph::conv_model(), input));
}

}  // namespace
}  // namespace plumb::engine
