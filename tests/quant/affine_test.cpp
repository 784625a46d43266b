// SPDX-License-Identifier: Apache-2.0
//
// The quantizer against the definition, against theory, and against ONNX Runtime's QuantizeLinear.
#include "quant/affine.h"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "graph/onnx_build.h"
#include "quant/schemes_testing.h"
#include "sample_of.h"

namespace plumb::quant {
namespace {

using testing::ElementsAre;

TEST(Affine, RangesBecomeGrids) {
  struct Case {
    const char* name;
    Range range;
    Scheme scheme;
    double scale;
    int zero, least, most;
  };
  const Case cases[] = {
      {"nothing", {0, 0}, kU8, 1, 0, 0, 255},
      {"too small for a float", {0, 1e-39}, kU8, 1, 0, 0, 255},
      {"positive", {1, 2.55}, kU8, 0.01, 0, 0, 255},  // zero is always there
      {"negative", {-2.55, -1}, kU8, 0.01, 255, 0, 255},
      {"both", {-1, 1.55}, kU8, 0.01, 100, 0, 255},
      {"symmetric unsigned", {-1, 0.5}, {DType::kUint8, true}, 2 / 255.0, 128, 0, 255},
      {"symmetric", {-1.27, 0.5}, kS8, 0.01, 0, -127, 127},
      {"symmetric, all levels", {-1, 0.5}, {DType::kInt8, true}, 2 / 255.0, 0, -128, 127},
      {"reduced", {-1.28, 0.5}, {DType::kInt8, true, true, false, true}, 0.02, 0, -64, 64},
      {"signed", {-1, 1.55}, {DType::kInt8}, 0.01, -28, -128, 127},
      {"16 bits", {-1, 65534}, kU16, 1, 1, 0, 65535},
      {"symmetric 16 bits", {0, 32767}, kS16, 1, 0, -32767, 32767},
      {"4 bits", {-7, 3}, kS4, 1, 0, -7, 7},
      {"power of two", {0, 200}, {DType::kUint8, false, false, true}, 1, 0, 0, 255},
      {"power of two, up", {0, 256}, {DType::kUint8, false, false, true}, 2, 0, 0, 255},
  };
  for (const Case& each : cases) {
    const Grid grid = grid_of(each.range, each.scheme);
    EXPECT_FLOAT_EQ(grid.scale, static_cast<float>(each.scale)) << each.name;
    EXPECT_EQ(grid.zero, each.zero) << each.name;
    EXPECT_EQ(grid.least, each.least) << each.name;
    EXPECT_EQ(grid.most, each.most) << each.name;
    EXPECT_EQ(grid.rounded(0), 0) << each.name;
    EXPECT_EQ(grid.is_constant, each.scale == 1 && each.range.hi < 1) << each.name;
  }
}

TEST(Affine, RoundsHalfToEven) {
  const Grid grid{0.5f, 3, 0, 255, false};
  for (const auto& [x, integer] : std::initializer_list<std::pair<float, int>>{{0.25f, 3},
                                                                               {0.75f, 5},
                                                                               {1.25f, 5},
                                                                               {-0.25f, 3},
                                                                               {-0.75f, 1},
                                                                               {126, 255},
                                                                               {127, 255},
                                                                               {-1.5f, 0},
                                                                               {-100, 0},
                                                                               {INFINITY, 255},
                                                                               {-INFINITY, 0},
                                                                               {NAN, 0}})
    EXPECT_EQ(grid.quantized(x), integer) << x;
}

TEST(Affine, ChannelsHaveTheirOwnGrids) {
  const std::vector<float> values{1, -2, 0.5f, 0.25f, -4, 3, 0.125f, -0.5f};  // 2 x 2 x 2
  const Channels middle = channels_of({2, 2, 2}, 1);
  EXPECT_EQ(middle.of(5), 0);
  EXPECT_EQ(middle.of(6), 1);
  EXPECT_THAT(ranges_of(values, middle), ElementsAre(Range{-4, 3}, Range{-0.5, 0.5}));
  EXPECT_THAT(ranges_of(values, channels_of({2, 2, 2}, std::nullopt)), ElementsAre(Range{-4, 3}));
  std::vector<Grid> grids;
  for (const Range range : ranges_of(values, middle)) grids.push_back(grid_of(range, kS8));
  const QuantizedTensor made = quantized(values, middle, grids);
  EXPECT_THAT(made.integers, ElementsAre(32, -64, 127, 64, -127, 95, 32, -127));
  EXPECT_FLOAT_EQ(made.numbers()[2], 0.5f);
  EXPECT_FLOAT_EQ(made.numbers()[5], 95 * 4 / 127.0f);
}

// Kernels that add two products of uint8 and int8 in 16 bits lose nothing of a reduced range.
TEST(Affine, SumsOfTwoProductsOfAReducedRangeFitSixteenBits) {
  const auto most = [](bool is_reduced) {
    const Grid grid = grid_of({-1, 1}, {DType::kInt8, true, true, false, is_reduced});
    return 2 * 255 * std::max(std::abs(grid.quantized(-9)), std::abs(grid.quantized(9)));
  };
  EXPECT_GT(most(false), 32767);
  EXPECT_LE(most(true), 32767);
}

TEST(Affine, FourBitsShareAByte) {
  const std::vector<int32_t> integers{-8, 7, 1};
  EXPECT_THAT(packed(integers, DType::kInt4), ElementsAre(std::byte{0x78}, std::byte{0x01}));
  EXPECT_EQ(packed(integers, DType::kInt16).size(), 6U);
}

double rounding_sqnr_db(const std::vector<float>& values, const Grid& grid) {
  double noise = 0, signal = 0;
  for (const float value : values) {
    const double error = double{value} - grid.rounded(value);
    noise += error * error;
    signal += double{value} * value;
  }
  return 10 * std::log10(signal / noise);
}

// Uniform noise of a step s has the power s^2 / 12; a uniform signal in [-1, 1] or [0, 1] has 1/3.
TEST(Affine, NoiseIsWhatTheorySays) {
  std::mt19937 random(1);
  std::vector<float> positive(1'000'000), both(positive.size());
  for (size_t i = 0; i < positive.size(); ++i) {
    positive[i] = std::uniform_real_distribution<float>(0, 1)(random);
    both[i] = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  EXPECT_NEAR(rounding_sqnr_db(positive, grid_of({0, 1}, kU8)), 54.15, 0.2);
  EXPECT_NEAR(rounding_sqnr_db(both, grid_of({-1, 1}, kS8)), 48.10, 0.2);
  EXPECT_NEAR(rounding_sqnr_db(both, grid_of({-1, 1}, kS16)), 96.3, 0.2);
}

// ---- against ONNX Runtime ----

template <class T>
std::vector<T> integers_in(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A model of one QuantizeLinear, of operators that know 16 bits.
std::string quantize_model(const Shape& shape, const std::vector<Grid>& grids, DType dtype) {
  graph::OnnxModel model;
  model.ir_version = 10;
  graph::import_opset(model, "", 21);
  model.graph.name = model.keep("quantize");
  model.graph.inputs.push_back(*graph::make_value(model, "x", {DType::kFloat32, shape}));
  model.graph.outputs.push_back(*graph::make_value(model, "y", {dtype, shape}));
  std::vector<float> scales;
  std::vector<int32_t> zeros;
  for (const Grid& grid : grids) {
    scales.push_back(grid.scale);
    zeros.push_back(grid.zero);
  }
  const Shape own = grids.size() == 1 ? Shape{} : Shape{std::ssize(grids)};
  const auto packed_zeros = packed(zeros, dtype);
  model.graph.initializers.push_back(
      *graph::make_weight(model, "s", {DType::kFloat32, own, std::as_bytes(std::span(scales))}));
  model.graph.initializers.push_back(*graph::make_weight(model, "z", {dtype, own, packed_zeros}));
  model.graph.nodes.push_back(*graph::make_node(model, {.type = "QuantizeLinear",
                                                        .inputs = {"x", "s", "z"},
                                                        .outputs = {"y"},
                                                        .attributes = {{"axis", int64_t{1}}}}));
  return graph::write_onnx(model);
}

TEST(Affine, IntegersAreThoseOfOnnxRuntime) {
  auto engine = engine::load_engine("onnxruntime");
  if (!engine) GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  constexpr int64_t kChannels = 8;
  const int64_t count = sample_of(1'000'000, 10);
  const Shape shape{5, kChannels, count / 5 / kChannels};
  std::mt19937 random(2);
  for (const bool per_channel : {false, true})
    for (const DType dtype : {DType::kUint8, DType::kInt8, DType::kUint16, DType::kInt16}) {
      const Channels channels =
          channels_of(shape, per_channel ? std::optional<int64_t>(1) : std::nullopt);
      std::vector<Grid> grids;
      for (int64_t i = 0; i < channels.count; ++i)  // scales that are no power of two, and some are
        grids.push_back(grid_of({-0.3 - 0.1 * static_cast<double>(i), i % 2 == 0 ? 1.7 : 127.5},
                                {dtype, i % 3 == 1}));
      std::vector<float> values(static_cast<size_t>(count));
      for (size_t i = 0; i < values.size(); ++i) {
        const Grid& grid = grids[static_cast<size_t>(channels.of(static_cast<int64_t>(i)))];
        const int levels = std::uniform_int_distribution<int>(-300, 70'000)(random);
        // Every third lies half-way between two levels; some lie far outside.
        values[i] = i % 3 == 0 ? (static_cast<float>(levels % 260) + 0.5f) * grid.scale
                               : std::normal_distribution<float>(0, 2)(random);
      }
      const std::string model = quantize_model(shape, grids, dtype);
      auto session = (*engine)->open({as_bytes(model), {}, {}, {}}, {});
      ASSERT_TRUE(session.ok()) << session.error().what << session.error().where;
      const Bytes fed = std::as_bytes(std::span(values));
      engine::Inputs inputs;
      inputs["x"] = {DType::kFloat32, shape, {fed.begin(), fed.end()}};
      const std::vector<std::byte> own = packed(quantized(values, channels, grids).integers, dtype);
      auto ran = (*session)->run(inputs, [&](const engine::Output& output) -> Result<void> {
        EXPECT_TRUE(std::equal(own.begin(), own.end(), output.tensor->bytes.begin(),
                               output.tensor->bytes.end()))
            << name_of(dtype) << (per_channel ? " by channel" : "");
        return {};
      });
      ASSERT_TRUE(ran.ok()) << ran.error().where;
    }
}

}  // namespace
}  // namespace plumb::quant
