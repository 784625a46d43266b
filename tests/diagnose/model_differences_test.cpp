// SPDX-License-Identifier: Apache-2.0
//
// What two models are told otherwise, as evidence: by operator, and only what tells something about
// one of them.
#include "diagnose/model_differences.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::diagnose {
namespace {

using graph::ModelContent;
using testing::ElementsAre;
using testing::IsEmpty;

// data -> conv0 -> conv1 -> ...: each a convolution with 16 weights.
class Chain {
 public:
  explicit Chain(size_t length) {
    graph::Operator data;
    data.name = "data";
    data.type = "Data";
    data.outputs.resize(1);
    data.outputs[0].name = "data";
    model.graph.format = "onnx";
    model.graph.operators.push_back(data);
    model.operators.emplace_back();
    for (size_t i = 0; i < length; ++i) {
      graph::Operator op;
      op.name = "conv" + std::to_string(i);
      op.type = "Conv";
      op.inputs = {{i == 0 ? "data" : "conv" + std::to_string(i - 1), 0}};
      op.outputs.resize(1);
      op.outputs[0].name = op.name;
      model.graph.operators.push_back(op);
      graph::OperatorContent content;
      content.attributes["group"] = int64_t{1};
      content.operands = {{op.inputs[0].producer, nullptr, false, false}, weights_of(i, 1)};
      model.operators.push_back(std::move(content));
    }
    model.graph.outputs = {{"conv" + std::to_string(length - 1), 0}};
  }

  void scale(size_t place, float factor) { content(place).operands[1] = weights_of(place, factor); }
  void round(size_t place, int levels) {
    std::vector<float> values = numbers(place, 1);
    const float step = 8.0F / static_cast<float>(levels);
    for (float& value : values) value = std::round(value / step) * step;
    content(place).operands[1] = operand(place, values);
  }
  graph::OperatorContent& content(size_t place) { return model.operators[place + 1]; }

  ModelContent model;

 private:
  static std::vector<float> numbers(size_t seed, float factor) {
    std::vector<float> values;
    uint32_t state = static_cast<uint32_t>(seed) * 2654435761U + 12345;
    for (int i = 0; i < 256; ++i) {
      state = state * 1664525U + 1013904223U;
      values.push_back(factor * (static_cast<float>(state >> 8) / (1 << 21) - 4));
    }
    return values;
  }
  static graph::Operand operand(size_t place, const std::vector<float>& values) {
    const auto owner = std::make_shared<const std::vector<float>>(values);
    return {"w" + std::to_string(place),
            std::make_shared<graph::ConstantTensor>(DType::kFloat32, Shape{16, 16, 1, 1},
                                                    std::as_bytes(std::span(*owner)), owner),
            false, false};
  }
  static graph::Operand weights_of(size_t place, float factor) {
    return operand(place, numbers(place, factor));
  }
};

std::vector<std::string> details(const ModelDifferences& models, const std::string& op) {
  std::vector<std::string> found;
  for (const graph::Difference* each : models.at({op}, {op})) found.push_back(each->detail);
  return found;
}

TEST(ModelDifferences, SayWhatDiffersAtAnOperator) {
  const Chain golden(8);
  Chain target(8);
  target.scale(2, 1.03F);
  target.content(5).attributes["group"] = int64_t{2};
  const ModelDifferences models(target.model, golden.model);
  EXPECT_THAT(details(models, "conv2"), ElementsAre("scale:1.03"));
  EXPECT_THAT(details(models, "conv5"), ElementsAre("attribute:group"));
  EXPECT_THAT(details(models, "conv3"), IsEmpty());
  EXPECT_THAT(details(models, "nobody"), IsEmpty());
}

TEST(ModelDifferences, SameModelsHaveNone) {
  const Chain golden(8), target(8);
  const ModelDifferences models(target.model, golden.model);
  for (int i = 0; i < 8; ++i) EXPECT_THAT(details(models, "conv" + std::to_string(i)), IsEmpty());
}

// In a quantized model all weights stand on levels: that explains nobody's error, but half as many
// levels do.
TEST(ModelDifferences, WhatAllHaveBlamesNobody) {
  const Chain golden(8);
  Chain target(8);
  for (size_t i = 0; i < 8; ++i) target.round(i, i == 4 ? 14 : 60);
  const ModelDifferences models(target.model, golden.model);
  EXPECT_THAT(details(models, "conv3"), IsEmpty());
  ASSERT_THAT(details(models, "conv4"), testing::SizeIs(1));
  EXPECT_THAT(details(models, "conv4")[0], testing::StartsWith("levels:1"));
}

TEST(ModelDifferences, TellModelsThatCannotBeRead) {
  const std::string models = std::string(PLUMB_TEST_DATA) + "/onnx_edit/";
  EXPECT_FALSE(ModelDifferences::load({models + "chain.onnx", {}, models + "none.onnx", {}}).ok());
  const auto same = ModelDifferences::load({models + "chain.onnx", {}, models + "chain.onnx", {}});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->diff().is_same());
  const auto bad =
      ModelDifferences::load({models + "chain_bad_mul.onnx", {}, models + "chain.onnx", {}});
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE(bad->at({"mul"}, {"mul"}).empty());
  EXPECT_TRUE(bad->at({"conv"}, {"conv"}).empty());
}

}  // namespace
}  // namespace plumb::diagnose
