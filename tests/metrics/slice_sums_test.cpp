// SPDX-License-Identifier: Apache-2.0
#include "metrics/slice_sums.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "metrics/pair_sums.h"

namespace plumb::metrics {
namespace {

// By the definition, slice for slice.
std::optional<SliceSums::Worst> by_definition(const Shape& shape, const std::vector<float>& target,
                                              const std::vector<float>& golden, double ignored) {
  std::optional<SliceSums::Worst> worst;
  const auto count = static_cast<int64_t>(golden.size());
  int64_t stride = count;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    stride /= shape[axis];
    const int64_t elements = count / shape[axis];
    if (shape[axis] == 1 || elements < kSmallestSlice) continue;
    std::vector<double> dd(static_cast<size_t>(shape[axis])), gg(dd);
    for (int64_t i = 0; i < count; ++i) {
      const double t = target[static_cast<size_t>(i)], g = golden[static_cast<size_t>(i)];
      if (!std::isfinite(t) || !std::isfinite(g)) continue;
      dd[static_cast<size_t>(i / stride % shape[axis])] += (t - g) * (t - g);
      gg[static_cast<size_t>(i / stride % shape[axis])] += g * g;
    }
    std::vector<double> sorted = dd;
    std::sort(sorted.begin(), sorted.end());
    const double usual = std::sqrt(sorted[(sorted.size() - 1) / 2] / static_cast<double>(elements));
    for (size_t i = 0; i < dd.size(); ++i) {
      const double error = std::sqrt(dd[i] / static_cast<double>(elements));
      if (error <= 4 * usual || error <= ignored) continue;
      const double ratio = std::sqrt(dd[i] / gg[i]);
      if (!worst || ratio > worst->ratio)
        worst = {ratio, axis, static_cast<int64_t>(i), elements, false};
    }
  }
  return worst;
}

// In pieces of `piece` pairs, those of each chunk of pieces on their own.
std::optional<SliceSums::Worst> worst_of(const Shape& shape, const std::vector<float>& target,
                                         const std::vector<float>& golden, double ignored,
                                         int64_t piece, int64_t chunk) {
  const SliceSums none(shape);
  if (none.bytes() == 0) return std::nullopt;
  SliceSums all = none;
  const auto count = static_cast<int64_t>(golden.size());
  for (int64_t begin = 0; begin < count; begin += chunk) {
    SliceSums part = none;
    for (int64_t first = begin; first < std::min(count, begin + chunk); first += piece) {
      const int64_t n = std::min({piece, count - first, begin + chunk - first});
      pair_sums({DType::kFloat32, reinterpret_cast<const std::byte*>(target.data() + first),
                 DType::kFloat32, reinterpret_cast<const std::byte*>(golden.data() + first), n},
                {}, &part, first);
    }
    all.append(std::move(part));
  }
  const std::vector<double> numbers(golden.begin(), golden.end());
  for (int64_t first = 0; first < count; first += all.period())
    all.add_golden(numbers.data() + first, std::min(all.period(), count - first));
  all.set_golden_is_whole();
  return all.worst(ignored);
}

struct Pair {
  std::vector<float> target, golden;
};
Pair noisy(const Shape& shape, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Pair pair;
  for (int64_t i = element_count(shape).value(); i > 0; --i) {
    pair.golden.push_back(normal(random));
    pair.target.push_back(pair.golden.back() * (1 + 0.001F * normal(random)));
  }
  return pair;
}
// Calls `change(target, golden)` for each pair of a slice.
template <class Change>
void for_slice(const Shape& shape, size_t axis, int64_t index, Pair& pair, Change&& change) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) stride *= shape[i];
  for (int64_t i = 0; i < static_cast<int64_t>(pair.golden.size()); ++i)
    if (i / stride % shape[axis] == index)
      change(pair.target[static_cast<size_t>(i)], pair.golden[static_cast<size_t>(i)]);
}

const Shape kShapes[] = {
    {1, 64, 7, 7}, {400, 85},  {85, 400},        {2, 3, 5, 7},          {3, 1, 17},
    {2048, 17},    {17, 2048}, {5, 40, 96},      {2, 2, 2, 2, 2, 2, 2}, {1, 12, 300, 40},
    {30000, 4},    {4, 30000}, {70, 1, 31, 1, 9}};

TEST(SliceSums, FindWhatTheDefinitionFinds) {
  std::mt19937 random(1);
  for (const Shape& shape : kShapes) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      SCOPED_TRACE(to_string(shape) + " axis " + std::to_string(axis));
      Pair pair = noisy(shape, random);
      const auto index = static_cast<int64_t>(random() % static_cast<uint64_t>(shape[axis]));
      for_slice(shape, axis, index, pair, [](float& t, float& g) {
        g *= 1e-2F;
        t = 0;
      });
      pair.target[pair.target.size() / 2] = pair.golden[pair.target.size() / 2] =
          std::numeric_limits<float>::quiet_NaN();
      const auto expected = by_definition(shape, pair.target, pair.golden, 1e-6);
      for (const int64_t piece : {int64_t{1} << 16, int64_t{1000}}) {
        const auto found = worst_of(shape, pair.target, pair.golden, 1e-6, piece, 3 * piece);
        ASSERT_EQ(found.has_value(), expected.has_value());
        if (!found) continue;
        EXPECT_NEAR(found->ratio, expected->ratio, 1e-12 * expected->ratio);
        EXPECT_EQ(found->axis, expected->axis);
        EXPECT_EQ(found->index, expected->index);
        EXPECT_EQ(found->elements, expected->elements);
        const bool is_judged =
            shape[axis] > 1 && static_cast<int64_t>(pair.golden.size()) / shape[axis] >= 16;
        EXPECT_TRUE(!is_judged || std::fabs(found->ratio - 1) < 1e-5);
      }
    }
  }
}

TEST(SliceSums, CommonErrorsDoNotStandOut) {
  std::mt19937 random(2);
  const Shape shape = {8, 32, 20};
  Pair pair = noisy(shape, random);
  // Noise of one size everywhere hides small channels, whoever looks.
  std::normal_distribution<float> normal(0, 0.01F);
  for (int64_t channel = 0; channel < 12; ++channel)
    for_slice(shape, 1, channel, pair, [](float&, float& g) { g *= 1e-3F; });
  for (size_t i = 0; i < pair.golden.size(); ++i) pair.target[i] = pair.golden[i] + normal(random);
  EXPECT_FALSE(worst_of(shape, pair.target, pair.golden, 0, 1 << 16, 1 << 16));
  // What is below `ignored` does not either.
  for_slice(shape, 1, 3, pair, [](float& t, float& g) { t = g + 0.1F; });
  EXPECT_TRUE(worst_of(shape, pair.target, pair.golden, 0.09, 1 << 16, 1 << 16));
  EXPECT_FALSE(worst_of(shape, pair.target, pair.golden, 0.11, 1 << 16, 1 << 16));
}

// Little of a slice is wrong: that is news if noise is neither as large elsewhere, nor as large a
// part of golden.
TEST(SliceSums, ALittleHasToStandOutInBoth) {
  struct Case {
    const char* name;
    float noise, size, error;  // of golden elsewhere; golden of the slice; its error beside it
    bool is_found;
  };
  const Case cases[] = {
      {"scaled", 0.004F, 1, 0.07F, true},
      {"in more noise", 0.01F, 1, 0.07F, false},
      {"quiet: noise elsewhere is as large", 0.004F, 0.3F, 0.07F, false},
      {"loud: as large a part of golden", 0.008F, 6, 0.035F, false},
      {"far above any noise", 0.0005F, 6, 0.035F, true},
  };
  const Shape shape = {40, 25};
  for (const Case& c : cases) {
    std::mt19937 random(3);
    Pair pair = noisy(shape, random);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < pair.golden.size(); ++i)
      pair.target[i] = pair.golden[i] * (1 + c.noise * normal(random));
    for_slice(shape, 0, 7, pair, [&](float& t, float& g) {
      g *= c.size;
      t = g * (1 + c.error);
    });
    const auto found = worst_of(shape, pair.target, pair.golden, 1e-6, 1 << 16, 1 << 16);
    ASSERT_EQ(found.has_value(), c.is_found) << c.name;
    if (!found) continue;
    EXPECT_EQ(found->index, 7) << c.name;
    EXPECT_NEAR(found->ratio, c.error, 1e-5) << c.name;
  }
}

TEST(SliceSums, FewElementsAreNoSlice) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{1000}, Shape{1, 1000, 1}, Shape{4, 15}, Shape{0, 64}})
    EXPECT_EQ(SliceSums(shape).bytes(), 0) << to_string(shape);
  for (const Shape& shape : {Shape{16, 300}, Shape{15, 300000}, Shape{2, 16}, Shape{16, 1, 2}})
    EXPECT_GT(SliceSums(shape).bytes(), 0) << to_string(shape);
}

}  // namespace
}  // namespace plumb::metrics
