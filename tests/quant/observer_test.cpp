// SPDX-License-Identifier: Apache-2.0
//
// Histograms and the ranges made from them: laws that hold for any data, thresholds that theory
// knows, and the definition of the entropy search written out plainly.
#include "quant/observer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quant/clipping.h"
#include "quant/schemes_testing.h"

namespace plumb::quant {
namespace {

std::vector<float> normal(size_t count, unsigned seed, float mean = 0, float sigma = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers(mean, sigma);
  std::vector<float> values(count);
  for (float& value : values) value = numbers(random);
  return values;
}

Observation observed(std::span<const float> values) {
  Observation seen;
  SampleObserver sample(true);
  sample.add(values, seen);
  sample.end(seen);
  return seen;
}

// Data of many shapes: wide, one-sided, constant, with outliers, tiny, huge.
std::vector<std::vector<float>> data() {
  std::vector<std::vector<float>> all{{0},         {1},         {-3, -3},
                                      {0, 1e-30f}, {1e30f, -1}, {1e6f, 1e6f + 1}};
  for (unsigned seed = 1; seed <= 4; ++seed) {
    all.push_back(normal(20'000, seed, static_cast<float>(seed) - 2, static_cast<float>(seed)));
    all.push_back(all.back());
    for (float& value : all.back()) value = std::max(value, 0.0f);
    all.push_back(all.back());
    all.back()[17] = 100;
    all.push_back(normal(5'000, 7 * seed));
    for (float& value : all.back()) value = std::exp(-std::abs(value) * 3);
  }
  return all;
}

Range min_max(const Observation& seen) { return {seen.min, seen.max}; }

// ---- histograms ----

TEST(Histogram, CountsEveryNumberOnceInItsBin) {
  for (const auto& values : data()) {
    Histogram histogram(64);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    histogram.add(values, {*least, *most});
    EXPECT_LE(histogram.counts().size(), 64U);
    EXPECT_EQ(histogram.total(), std::ssize(values));
    std::vector<int64_t> counts(histogram.counts().size());
    for (const float value : values) {
      const auto bin = static_cast<int64_t>(std::floor(value / histogram.width()));
      ++counts.at(static_cast<size_t>(bin - histogram.first()));
    }
    EXPECT_TRUE(std::equal(counts.begin(), counts.end(), histogram.counts().begin()));
    const auto magnitudes = histogram.magnitudes();
    EXPECT_EQ(std::accumulate(magnitudes.begin(), magnitudes.end(), int64_t{0}),
              std::ssize(values));
  }
}

bool is_same(const Histogram& a, const Histogram& b) {
  return a.width() == b.width() && a.first() == b.first() &&
         std::equal(a.counts().begin(), a.counts().end(), b.counts().begin(), b.counts().end());
}

TEST(Histogram, OrderAndPiecesDoNotMatter) {
  std::mt19937 random(5);
  for (auto values : data()) {
    Histogram whole(256);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    whole.add(values, {*least, *most});
    std::shuffle(values.begin(), values.end(), random);
    Histogram pieces(256), merged(256);
    for (size_t at = 0; at < values.size();) {
      const size_t size = std::min<size_t>(1 + random() % 5000, values.size() - at);
      const auto piece = std::span(values).subspan(at, size);
      const auto [low, high] = std::minmax_element(piece.begin(), piece.end());
      pieces.add(piece, {*low, *high});
      Histogram part(256);
      part.add(piece, {*low, *high});
      merged.add(part);
      at += size;
    }
    EXPECT_TRUE(is_same(whole, pieces)) << values[0];
    EXPECT_TRUE(is_same(whole, merged)) << values[0];
  }
}

// ---- observers ----

TEST(Observer, MinMaxAndAverage) {
  Observation seen;
  for (const std::vector<float>& values :
       {std::vector<float>{1, 2}, std::vector<float>{-4, 0}, std::vector<float>{0, 10}}) {
    SampleObserver sample(false);
    sample.add(std::span(values).first(1), seen);  // two tensors that share a grid
    sample.add(std::span(values).last(1), seen);
    sample.end(seen);
  }
  EXPECT_EQ(range_of(seen, kU8, {Method::kMinMax}), (Range{-4, 10}));
  EXPECT_EQ(range_of(seen, kU8, {Method::kAverage}), (Range{-1, 4}));
  EXPECT_EQ(seen.samples, 3);
  EXPECT_EQ(seen.count, 6);
  EXPECT_EQ(seen.zeros, 2);
  EXPECT_EQ(seen.sum, 9);
}

TEST(Observer, WhatIsNotFiniteIsCounted) {
  const std::vector<float> values{1, NAN, INFINITY, -INFINITY, 2};
  EXPECT_EQ(observed(values).not_finite, 3);
}

TEST(Observer, LeastSquaresAreNeverWorseThanMinMax) {
  for (const auto& values : data())
    for (const Scheme& scheme : {kU8, kS8, Scheme{DType::kInt4, true, true}}) {
      const Observation seen = observed(values);
      const Range range = range_of(seen, scheme, {Method::kMse});
      EXPECT_LE(mean_square_error(seen.histogram, range, scheme),
                mean_square_error(seen.histogram, min_max(seen), scheme))
          << values.size();
    }
}

// Of weights the numbers themselves count, not the bins they fall into: weights that lie on a grid
// already lose nothing, and no channel of a few numbers loses more than by its smallest and
// largest.
TEST(Observer, LeastSquaresOfWeightsAreNeverWorseThanMinMax) {
  const auto loss = [](const std::vector<float>& values, const Grid& grid) {
    double sum = 0;
    for (const float value : values) {
      const double error = double{grid.rounded(value)} - value;
      sum += error * error;
    }
    return sum;
  };
  std::vector<std::vector<float>> channels;
  for (const size_t count : {2U, 9U, 27U, 144U, 1000U})
    for (unsigned seed = 1; seed <= 20; ++seed) channels.push_back(normal(count, seed));
  channels.push_back({-0.7f, -0.3f, -0.1f, 0, 0.2f, 0.4f, 0.7f});  // on the grid of step 0.1
  for (const auto& values : channels)
    for (const Scheme& scheme : {kS8, kS4}) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      const double plain = loss(values, grid_of({*least, *most}, scheme));
      EXPECT_LE(loss(values, grid_of(range_of(values, scheme, {Method::kMse}), scheme)),
                plain * (1 + 1e-6) + 1e-13)
          << values.size();
    }
}

// The best clipping of a Gauss curve by 8 bits (Banner et al., "Post training 4-bit quantization"):
// 3.92 standard deviations; by 4 bits 2.55.
TEST(Observer, LeastSquaresOfAGaussCurve) {
  const Observation seen = observed(normal(1'000'000, 3));
  EXPECT_NEAR(range_of(seen, kS8, {Method::kMse}).hi, 3.92, 0.25);
  EXPECT_NEAR(range_of(seen, {DType::kInt4, true, true}, {Method::kMse}).hi, 2.55, 0.15);
}

TEST(Observer, PercentilesGrowAndEndAtMinMax) {
  for (const auto& values : data())
    for (const Scheme& scheme : {kU8, kS8}) {
      const Observation seen = observed(values);
      Range before{0, 0};
      for (const double percent : {90.0, 99.0, 99.9, 99.99, 99.999, 100.0}) {
        const Range range = range_of(seen, scheme, {Method::kPercentile, percent});
        if (percent > 90) {
          EXPECT_LE(range.lo, before.lo) << percent;
          EXPECT_GE(range.hi, before.hi) << percent;
        }
        before = range;
      }
      EXPECT_EQ(grid_of(before, scheme), grid_of(min_max(seen), scheme));
    }
}

TEST(Observer, APercentileLeavesThatShareOutside) {
  std::vector<float> values(100'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 1000 - 50;
  const Observation seen = observed(values);
  const Range range = range_of(seen, kU8, {Method::kPercentile, 98});
  EXPECT_NEAR(range.lo, -49, 2 * seen.histogram.width());
  EXPECT_NEAR(range.hi, 49, 2 * seen.histogram.width());
  EXPECT_NEAR(clipped_share(seen.histogram, grid_of({-49, 49}, kU8)), 0.016, 0.003);  // half a step
}

TEST(Observer, EntropyCutsAnOutlierAndKeepsAnEvenSpread) {
  std::vector<float> values = normal(1'000'000, 9);
  values[123] = 100;
  EXPECT_LT(range_of(observed(values), kS8, {Method::kKl}).hi, 20);
  std::mt19937 random(4);
  for (float& value : values) value = std::uniform_real_distribution<float>(0, 1)(random);
  EXPECT_GE(range_of(observed(values), kU8, {Method::kKl}).hi, 0.95);
}

// The definition, step by step.
double plain_entropy_threshold(const Histogram& histogram, size_t levels) {
  std::vector<int64_t> h = histogram.magnitudes();
  if (levels == 256 && h.size() > 1) h[0] = h[1];
  double width = histogram.width();
  for (; h.size() * 50 > static_cast<size_t>(histogram.total()); width *= 2) {
    if (h.size() % 2 != 0) h.push_back(0);
    std::vector<int64_t> merged;
    for (size_t i = 0; i < h.size(); i += 2) merged.push_back(h[i] + h[i + 1]);
    h = merged;
    if (h.size() < 4 * levels) return static_cast<double>(h.size()) * 2 * width;
  }
  const auto all = static_cast<double>(std::accumulate(h.begin(), h.end(), int64_t{0}));
  while (h.size() % levels != 0) h.push_back(0);
  double least = INFINITY, best = 0;
  for (size_t n = levels; n <= h.size(); n += levels) {
    std::vector<double> p(h.begin(), h.begin() + static_cast<ptrdiff_t>(n)), q(n);
    p.back() += static_cast<double>(
        std::accumulate(h.begin() + static_cast<ptrdiff_t>(n), h.end(), int64_t{0}));
    const size_t wide = n / levels;
    for (size_t level = 0; level < levels; ++level) {
      double sum = 0, filled = 0;
      for (size_t i = level * wide; i < (level + 1) * wide; ++i) {
        sum += static_cast<double>(h[i]);
        filled += h[i] > 0;
      }
      for (size_t i = level * wide; i < (level + 1) * wide; ++i) q[i] = h[i] > 0 ? sum / filled : 0;
    }
    if (p.back() - static_cast<double>(h[n - 1]) > 0.01 * all) continue;
    const double p_sum = std::accumulate(p.begin(), p.end(), 0.0);
    const double q_sum = std::accumulate(q.begin(), q.end(), 0.0);
    if (q_sum == 0) continue;
    const bool is_smoothed = q.back() == 0 && p.back() > 0;
    double divergence = 0;
    for (size_t i = 0; i < n; ++i) {
      if (p[i] == 0) continue;
      const double other = q[i] == 0 ? 1e-4 : q[i] / q_sum * (is_smoothed ? 1 - 1e-4 : 1);
      divergence += p[i] / p_sum * std::log(p[i] / p_sum / other);
    }
    if (divergence > least * (1 + 1e-12)) continue;
    least = divergence;
    best = static_cast<double>(n) * width;
  }
  return best;
}

TEST(Observer, EntropyIsAsDefined) {
  auto all = data();
  all.push_back(normal(300'000, 11));
  for (const auto& values : all) {
    const Observation seen = observed(values);
    for (const bool is_signed : {true, false})
      EXPECT_EQ(entropy_threshold(seen.histogram, is_signed),
                plain_entropy_threshold(seen.histogram, is_signed ? 128 : 256))
          << values.size();
  }
}

// Behind a flat background few numbers are there again and again: that is no reason to clip the
// others, of many samples or of few.
TEST(Observer, EntropyKeepsWhatLiesBeyondSpikes) {
  for (const size_t count : {30'000U, 3'000'000U}) {
    std::vector<float> values = normal(count, 12);
    for (size_t i = 0; i < count; ++i)
      values[i] = i % 10 < 7 ? 0.05F * static_cast<float>(i % 10) : std::abs(values[i]);
    const double threshold = range_of(observed(values), kU8, {Method::kKl}).hi;
    const auto beyond =
        std::count_if(values.begin(), values.end(), [&](float value) { return value > threshold; });
    EXPECT_LE(static_cast<double>(beyond), 0.01 * static_cast<double>(count)) << count;
  }
}

TEST(Observer, Words) {
  for (const char* text : {"minmax", "average", "pct:99.9", "mse", "kl"})
    EXPECT_EQ(text_of(*observer_from_text(text, "--method")), text);
  EXPECT_EQ(observer_from_text("OBSVR_METHOD_MSE_CLIPPING", "x")->method, Method::kMse);
  for (const char* text : {"", "minmx", "pct:", "pct:101", "pct:20", "mse:3"})
    EXPECT_FALSE(observer_from_text(text, "--method").ok()) << text;
  EXPECT_EQ(observer_from_text("msee", "--method").error().remedy.substr(0, 18),
            "did you mean 'mse'");
}

}  // namespace
}  // namespace plumb::quant
