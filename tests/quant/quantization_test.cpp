// SPDX-License-Identifier: Apache-2.0
//
// Grids of layers and tensors, without a model: biases that do not fit, types of tensors between
// layers, blocks of weights.
#include "quant/quantization.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::quant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const LayerWeight kLayer{.input = 1, .bias = 2, .shape = {3, 4}, .axis = 0};

LayerValues values_with(std::vector<float> bias) {
  LayerValues values;
  for (int i = 0; i < 12; ++i) values.weights.push_back(0.01f * static_cast<float>(i - 5));
  values.bias = std::move(bias);
  return values;
}

ActivationGrid input_of(float scale) {
  ActivationGrid input;
  input.grid.scale = scale;
  return input;
}

TEST(QuantizeWeight, BiasesAreStepsOfInputTimesWeight) {
  const LayerValues values = values_with({0.5f, -0.25f, 0});
  const QuantizedWeight made =
      quantize_weight(kLayer, values, DType::kInt8, input_of(0.02f), Settings{});
  ASSERT_EQ(made.bias.size(), 3u);
  EXPECT_THAT(made.widened, IsEmpty());
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(made.bias_scales[c], 0.02f * made.values.grids[c].scale);
    EXPECT_NEAR(made.bias[c] * double{made.bias_scales[c]}, values.bias[c],
                made.bias_scales[c] / 2 + 1e-9);
  }
}

TEST(QuantizeWeight, ABiasThatDoesNotFitWidensItsChannel) {
  const LayerValues values = values_with({1e-3f, 1e5f, -3e6f});
  const float tiny = 1e-8f;
  const QuantizedWeight made =
      quantize_weight(kLayer, values, DType::kInt8, input_of(tiny), Settings{});
  EXPECT_THAT(made.widened, ElementsAre(1, 2));
  const QuantizedWeight easy =
      quantize_weight(kLayer, values, DType::kInt8, input_of(1), Settings{});
  EXPECT_EQ(made.values.grids[0].scale, easy.values.grids[0].scale);
  for (const size_t c : {1u, 2u}) {
    EXPECT_GT(made.values.grids[c].scale, easy.values.grids[c].scale);
    EXPECT_LT(std::abs(int64_t{made.bias[c]}), int64_t{1} << 31);
    EXPECT_NEAR(made.bias[c] * double{made.bias_scales[c]} / values.bias[c], 1, 1e-6);  // no clip
  }
}

TEST(QuantizeWeight, BiasesStayFloatWhereAskedOrWhereTheInputHasNoGrid) {
  Settings settings;
  const LayerValues values = values_with({1, 2, 3});
  EXPECT_THAT(quantize_weight(kLayer, values, DType::kInt8, std::nullopt, settings).bias,
              IsEmpty());
  settings.has_integer_bias = false;
  EXPECT_THAT(quantize_weight(kLayer, values, DType::kInt8, input_of(1), settings).bias, IsEmpty());
}

TEST(QuantizeWeight, ByTensorThereIsOneGrid) {
  Settings settings;
  settings.per_channel = false;
  const QuantizedWeight made =
      quantize_weight(kLayer, values_with({}), DType::kInt8, std::nullopt, settings);
  ASSERT_EQ(made.values.grids.size(), 1u);
  EXPECT_FLOAT_EQ(made.values.grids[0].scale, 0.06f / 127);
}

// Clipped weights are as large, along the weights, as those that they stand for: what a layer gives
// does not shrink, whatever is clipped; and the error is never more than that of all weights
// inside.
TEST(QuantizeWeight, ClippingDoesNotMakeALayerSmaller) {
  std::mt19937 random(8);
  LayerWeight layer;
  layer.shape = {6, 200};
  LayerValues values;
  values.weights.resize(1200);
  for (float& weight : values.weights) weight = std::normal_distribution<float>(0, 1)(random);
  Settings plain, clipped;
  for (const Observer& observer :
       {Observer{Method::kMse}, Observer{Method::kKl}, Observer{Method::kPercentile, 98}}) {
    clipped.weight_observer = observer;
    const auto made = quantize_weight(layer, values, DType::kInt4, std::nullopt, clipped);
    const auto all = quantize_weight(layer, values, DType::kInt4, std::nullopt, plain);
    EXPECT_GE(made.sqnr_db, all.sqnr_db) << text_of(observer);
    const std::vector<float> numbers = made.numbers();
    for (size_t row = 0; row < 6; ++row) {
      double product = 0, square = 0;
      for (size_t i = row * 200; i < (row + 1) * 200; ++i) {
        product += double{numbers[i]} * values.weights[i];
        square += double{values.weights[i]} * values.weights[i];
      }
      const bool is_plain = made.values.grids[row] == all.values.grids[row];
      if (!is_plain) {
        EXPECT_NEAR(product / square, 1, 1e-5) << text_of(observer) << row;
      }
    }
  }
  clipped.weight_observer = {Method::kMse};
  EXPECT_GT(quantize_weight(layer, values, DType::kInt4, std::nullopt, clipped).sqnr_db,
            quantize_weight(layer, values, DType::kInt4, std::nullopt, plain).sqnr_db + 0.5);
}

TEST(Precisions, WordsAndBack) {
  for (const char* text : {"a8w8", "a16w8", "a16w16", "a8w4", "float"})
    EXPECT_EQ(text_of(*precision_from_text(text, {})), text);
  EXPECT_EQ(precision_from_text("a16w8", {DType::kInt8, DType::kInt8})->activations, DType::kInt16);
  for (const char* text : {"", "a7w8", "a8", "w8", "a8w5", "a8w8x"})
    EXPECT_FALSE(precision_from_text(text, {})) << text;
}

// layer 0 -> t0 -> layer 1 -> t1 -> layer 2
TEST(Precisions, ATensorIsAsWideAsItsWidestLayer) {
  Plan plan;
  plan.layers.resize(3);
  plan.quantizers.resize(2);
  plan.quantizers[0] = {{"t0"}, {}, {0}, {1}, {}, false};
  plan.quantizers[1] = {{"t1"}, {}, {1}, {2}, {}, false};
  const Precision narrow, wide{DType::kUint16, DType::kInt8}, none{std::nullopt, std::nullopt};
  using Types = std::vector<std::optional<DType>>;
  const auto types = [&](Precision a, Precision b, Precision c) {
    const std::vector<Precision> precisions{a, b, c};
    return activation_types(plan, precisions);
  };
  EXPECT_EQ(types(narrow, narrow, narrow), (Types{DType::kUint8, DType::kUint8}));
  EXPECT_EQ(types(narrow, wide, narrow), (Types{DType::kUint16, DType::kUint16}));
  EXPECT_EQ(types(narrow, none, none), (Types{DType::kUint8, std::nullopt}));
  EXPECT_EQ(types(none, none, narrow), (Types{std::nullopt, DType::kUint8}));
  plan.quantizers[1].is_tail = true;
  EXPECT_EQ(types(wide, wide, wide), (Types{DType::kUint16, std::nullopt}));
}

TEST(Blocks, EachHasItsOwnScale) {
  std::mt19937 random(3);
  constexpr int64_t kRows = 40, kColumns = 3, kBlock = 16;
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::normal_distribution<float>(0, 1 + static_cast<float>(i / 48))(random);
  const BlockedWeight made = quantize_blocks(values, kRows, kColumns, kBlock);
  EXPECT_EQ(made.blocks(), 3);
  ASSERT_EQ(made.scales.size(), 9u);
  const std::vector<float> numbers = made.numbers();
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      const auto place = static_cast<size_t>(row * kColumns + column);
      const float scale = made.scales[static_cast<size_t>(column * 3 + row / kBlock)];
      EXPECT_LE(std::abs(made.integers[place]), 7);
      EXPECT_LE(std::abs(numbers[place] - values[place]), scale * 0.5001f);
    }
}

}  // namespace
}  // namespace plumb::quant
