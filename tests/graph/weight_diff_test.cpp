// SPDX-License-Identifier: Apache-2.0
#include "graph/weight_diff.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace plumb::graph {
namespace {

using Numbers = std::vector<float>;

ConstantTensor tensor(const Numbers& numbers, Shape shape) {
  auto owner = std::make_shared<Numbers>(numbers);
  return ConstantTensor(DType::kFloat32, std::move(shape), std::as_bytes(std::span(*owner)), owner);
}

Numbers noise(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Numbers numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

template <class Change>
Numbers changed(Numbers numbers, Change change) {
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = change(numbers[i], i);
  return numbers;
}

std::string detail(const Numbers& target, const Numbers& golden, Shape shape) {
  const auto found = compare_weights(tensor(target, shape), tensor(golden, shape));
  return found ? found->detail : "same";
}

// Golden is [8, 4, 3, 3] noise; what is done to it, and the word for that.
TEST(WeightDiff, EachChangeHasItsWord) {
  const Shape shape{8, 4, 3, 3};
  const Numbers golden = noise(288);
  const auto is = [&](const char* word, auto change) {
    EXPECT_EQ(detail(changed(golden, change), golden, shape), word);
  };
  const auto channel = [](size_t i) { return i / 36; };
  is("same", [](float x, size_t) { return x; });
  is("scale:1.03", [](float x, size_t) { return x * 1.03F; });
  is("offset:0.25", [](float x, size_t) { return x + 0.25F; });
  is("affine:2,0.5", [](float x, size_t) { return 2 * x + 0.5F; });
  is("negated", [](float x, size_t) { return -x; });
  is("zeroed", [](float, size_t) { return 0.0F; });
  is("channel:5", [&](float x, size_t i) { return channel(i) == 5 ? 2 * x : x; });
  is("channels:1,2", [&](float x, size_t i) { return channel(i) == 1 || channel(i) == 2 ? 0 : x; });
  is("scale_per_channel",
     [&](float x, size_t i) { return x * (1 + 0.125F * static_cast<float>(channel(i))); });
  is("offset_per_channel",
     [&](float x, size_t i) { return x + 0.125F * static_cast<float>(1 + channel(i)); });
  is("element:2,3,0,1", [](float x, size_t i) { return i == 2 * 36 + 27 + 1 ? x + 1 : x; });
  is("nonfinite:1", [](float x, size_t i) { return i == 7 ? std::nanf("") : x; });
  is("saturated:-1,1", [](float x, size_t) { return std::clamp(x, -1.0F, 1.0F); });
  is("values",
     [](float x, size_t i) { return x + 0.01F * std::sin(1000.0F * static_cast<float>(i)); });
  is("flip:3", [&](float, size_t i) { return golden[i - i % 3 + (2 - i % 3)]; });
  is("channels_reversed", [&](float, size_t i) { return golden[(7 - i / 36) * 36 + i % 36]; });
  is("permuted:0", [&](float, size_t i) { return golden[(i / 36 + 3) % 8 * 36 + i % 36]; });
  is("axes:0,1,3,2", [&](float, size_t i) { return golden[i - i % 9 + i % 3 * 3 + i % 9 / 3]; });
}

TEST(WeightDiff, RoundingToLevelsIsTold) {
  const Numbers golden = noise(2000);
  const float largest = std::fabs(*std::max_element(
      golden.begin(), golden.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
  for (const int bits : {3, 4, 8}) {
    const float step = largest / static_cast<float>((1 << (bits - 1)) - 1);
    const Numbers rounded =
        changed(golden, [&](float x, size_t) { return std::nearbyint(x / step) * step; });
    const std::set<float> distinct(rounded.begin(), rounded.end());
    const auto found = compare_weights(tensor(rounded, {2000}), tensor(golden, {2000}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->detail, "levels:" + std::to_string(distinct.size()));
    EXPECT_TRUE(found->is_quantization);
    ASSERT_TRUE(found->step);
    EXPECT_NEAR(*found->step, static_cast<double>(step), 1e-5 * static_cast<double>(step));
    // Seen from the other side.
    EXPECT_EQ(detail(golden, rounded, {2000}), "golden_levels:" + std::to_string(distinct.size()));
  }
}

TEST(WeightDiff, EachChannelMayHaveItsOwnLevels) {
  const Shape shape{40, 50};
  const Numbers golden = noise(2000);
  std::vector<float> steps(40);
  for (size_t i = 0; i < golden.size(); ++i)
    steps[i / 50] = std::max(steps[i / 50], std::fabs(golden[i]) / 127);
  const Numbers rounded = changed(
      golden, [&](float x, size_t i) { return std::nearbyint(x / steps[i / 50]) * steps[i / 50]; });
  const auto found = compare_weights(tensor(rounded, shape), tensor(golden, shape));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->detail.starts_with("levels:")) << found->detail;
  EXPECT_EQ(found->axis, 0);
}

TEST(WeightDiff, HalfPrecisionIsTold) {
  const Numbers golden = noise(500);
  for (const auto& [dtype, word] :
       {std::pair{DType::kFloat16, "cast:float16"}, std::pair{DType::kBFloat16, "cast:bfloat16"}}) {
    const ConstantTensor whole = tensor(golden, {500});
    const auto found = compare_weights(whole.cast(dtype), whole);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->detail, word);
    EXPECT_EQ(compare_weights(whole, whole.cast(dtype))->detail, std::string("golden_") + word);
  }
}

TEST(WeightDiff, ShapesAreComparedWithoutOnes) {
  const Numbers golden = noise(12);
  EXPECT_FALSE(compare_weights(tensor(golden, {1, 12, 1, 1}), tensor(golden, {12})));
  const auto turned = compare_weights(tensor(golden, {12, 1}).permuted(std::vector<int64_t>{1, 0}),
                                      tensor(golden, {12}));
  EXPECT_FALSE(turned);
  const ConstantTensor matrix = tensor(golden, {3, 4});
  const int64_t order[] = {1, 0};
  EXPECT_EQ(compare_weights(matrix.permuted(order), matrix)->detail, "axes:1,0");
  EXPECT_EQ(compare_weights(tensor(golden, {2, 6}), matrix)->detail, "shape");
}

TEST(WeightDiff, ToleranceIsARelativeNorm) {
  const Numbers golden = noise(100);
  const Numbers target = changed(golden, [](float x, size_t) { return x * 1.001F; });
  EXPECT_TRUE(compare_weights(tensor(target, {100}), tensor(golden, {100}), {9e-4, 0}));
  EXPECT_FALSE(compare_weights(tensor(target, {100}), tensor(golden, {100}), {1.1e-3, 0}));
  EXPECT_FALSE(compare_weights(tensor(target, {100}), tensor(golden, {100}), {0, 1.1e-3}));
}

TEST(WeightDiff, EmptyAndSingleNumbers) {
  EXPECT_FALSE(compare_weights(tensor({}, {0}), tensor({}, {0})));
  EXPECT_EQ(detail({3}, {2}, {}), "scale:1.5");
  EXPECT_EQ(detail({3}, {0}, {1}), "values");
  EXPECT_EQ(detail({0}, {2}, {1}), "zeroed");
}

// (number - zero) * scale, as DequantizeLinear is defined, along the second axis.
TEST(ConstantTensor, DequantizesAlongAnAxis) {
  const std::vector<int8_t> stored{1, 2, 3, -4, -5, -6};
  const ConstantTensor plain(DType::kInt8, {2, 3}, std::as_bytes(std::span(stored)));
  const auto numbers = plain.dequantized({0.5, 1, 2}, {0, 1, 0}, 1, DType::kFloat32).all();
  EXPECT_EQ(numbers, (std::vector<double>{0.5, 1, 6, -2, -6, -12}));
  const int64_t order[] = {1, 0};
  const auto turned =
      plain.dequantized({0.5, 1, 2}, {0, 1, 0}, 1, DType::kFloat32).permuted(order).all();
  EXPECT_EQ(turned, (std::vector<double>{0.5, -2, 1, -6, 6, -12}));
}

TEST(ConstantTensor, PartsAreThoseOfTheWhole) {
  const Numbers numbers = noise(60);
  const int64_t order[] = {2, 0, 1};
  const ConstantTensor view =
      tensor(numbers, {3, 4, 5}).permuted(order).scaled({2, 3, 4, 5, 6}, {}, 0);
  const auto all = view.all();
  for (const int64_t first : {0, 1, 7, 11, 12, 59}) {
    std::vector<double> part(static_cast<size_t>(std::min<int64_t>(9, 60 - first)));
    view.read(first, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first)) << first;
  }
  EXPECT_EQ(all[1], 2 * static_cast<double>(numbers[5]));  // [0][0][1] is [0][1][0]
}

}  // namespace
}  // namespace plumb::graph
