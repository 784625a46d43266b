// SPDX-License-Identifier: Apache-2.0
#include "metrics/sketch.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "metrics/non_finite_testing.h"

namespace plumb::metrics {
namespace {

Sketch sketch_of(const std::vector<double>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  Sketcher sketcher;
  sketcher.add(DType::kFloat64, data, std::ssize(values));
  return sketcher.finish(stats_of(DType::kFloat64, data, std::ssize(values)), 0);
}

struct Exact {
  double cosine, rel_euclid;
};
Exact exactly(const std::vector<double>& t, const std::vector<double>& g) {
  long double tt = 0, gg = 0, tg = 0, dd = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    tt += static_cast<long double>(t[i]) * t[i];
    gg += static_cast<long double>(g[i]) * g[i];
    tg += static_cast<long double>(t[i]) * g[i];
    dd += (static_cast<long double>(t[i]) - g[i]) * (static_cast<long double>(t[i]) - g[i]);
  }
  return {static_cast<double>(tg / std::sqrt(tt) / std::sqrt(gg)),
          static_cast<double>(std::sqrt(dd / gg))};
}

bool is_inside(const Bounded& b, double value) {
  return b.low <= b.value && b.value <= b.high && b.low - 1e-15 <= value && value <= b.high + 1e-15;
}

TEST(Sketch, ProjectionIsTheOneOfTheDefinition) {
  std::vector<double> values;
  for (int i = 0; i < 1500; ++i) values.push_back(((i * 7919) % 2003 - 1001) / 64.0);
  const Sketch sketch = sketch_of(values);
  std::ifstream file(PLUMB_TEST_DATA "/metrics/sketch.txt");
  for (float bucket : sketch.projection) {
    float expected = 0;
    ASSERT_TRUE(file >> expected);
    ASSERT_EQ(bucket, expected);
  }
}

// 1,000 pairs of every kind: the bound may fail for one in a hundred.
TEST(Sketch, EstimatesLieWithinTheirBounds) {
  std::mt19937_64 random(20260101);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto heavy = [&] { return normal(random) / std::pow(uniform(random) + 1e-9, 1.5); };
  const auto sparse = [&] { return uniform(random) < 0.01 ? normal(random) : 0.0; };
  const auto positive = [&] { return 1 + 0.1 * normal(random); };
  int cosine_misses = 0, euclid_misses = 0, large = 0;
  double squared_errors = 0;
  for (int pair = 0; pair < 1000; ++pair) {
    const size_t n = size_t{1} << (1 + pair % 13);
    const double noise = std::pow(10, -6.0 * (pair / 13 % 10) / 9) * 2;
    const int kind = pair % 5;
    std::vector<double> t(n), g(n);
    for (size_t i = 0; i < n; ++i) {
      const auto draw = [&] {
        return kind == 0 ? heavy() : kind == 1 ? sparse() : kind == 2 ? positive() : normal(random);
      };
      g[i] = draw();
      t[i] = kind == 4 ? draw() : g[i] + noise * (kind == 3 ? draw() : g[i] * normal(random));
    }
    g[0] += 1;  // never all zero
    t[0] += 1 + noise;
    const Estimate e = estimate(sketch_of(t), sketch_of(g));
    ASSERT_EQ(e.undefined, nullptr) << e.undefined;
    const Exact exact = exactly(t, g);
    cosine_misses += !is_inside(e.cosine, exact.cosine);
    euclid_misses += !is_inside(e.rel_euclid, exact.rel_euclid);
    if (n > 1000) {
      squared_errors += std::pow(e.rel_euclid.value / exact.rel_euclid - 1, 2);
      ++large;
    }
  }
  EXPECT_LE(cosine_misses, 10);
  EXPECT_LE(euclid_misses, 10);
  // Half of the relative error of N: about sqrt(2 / 512) / 2, less for a median of three.
  EXPECT_LT(std::sqrt(squared_errors / large), 0.032);
}

TEST(Sketch, SmallErrorsAreSeenSharply) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> g(100'000), t(100'000);
  for (size_t i = 0; i < g.size(); ++i) {
    g[i] = normal(random);
    t[i] = g[i] + 1e-3 * normal(random);
  }
  const Estimate e = estimate(sketch_of(t), sketch_of(g));
  ASSERT_EQ(e.undefined, nullptr);
  EXPECT_NEAR(e.cosine.value, 1 - 0.5e-6, 1e-7);
  EXPECT_LT(e.cosine.bound(), 2.5e-7);
  EXPECT_NEAR(e.rel_euclid.value, 1e-3, 1e-4);
}

TEST(Sketch, EqualTensorsAgree) {
  const Sketch s = sketch_of({1, -2, 3e100, 0.5});
  const Estimate e = estimate(s, s);
  ASSERT_EQ(e.undefined, nullptr);
  EXPECT_EQ(e.cosine.value, 1);
  EXPECT_LT(e.cosine.bound(), 1e-12);
  EXPECT_EQ(e.rel_euclid.value, 0);
}

TEST(Sketch, UndefinedHasAReason) {
  const Sketch some = sketch_of({1, 2}), zero = sketch_of({0, 0});
  EXPECT_EQ(estimate(zero, zero).cosine.value, 1);
  EXPECT_STREQ(estimate(zero, some).undefined, "target is all zeros");
  EXPECT_STREQ(estimate(some, zero).undefined, "golden is all zeros");
  EXPECT_STREQ(estimate(sketch_of({1, kNan}), some).undefined, "a tensor holds NaN or infinities");
  EXPECT_STREQ(estimate(sketch_of({1}), some).undefined, "the tensors have different sizes");
  EXPECT_STREQ(estimate(sketch_of({1e200, 1}), some).undefined,
               "the norm of a tensor is not a double");
  EXPECT_STREQ(estimate(sketch_of({1e-200, 0}), some).undefined,
               "the norm of a tensor is not a double");
  Sketch other = some;
  other.seed = 1;
  EXPECT_STREQ(estimate(other, some).undefined, "the sketches have different seeds");
}

TEST(Sketch, CutsDoNotMatter) {
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) values.push_back(std::sin(i) * 1e3);
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  Sketcher whole, cut;
  whole.add(DType::kFloat64, data, 5000);
  for (int64_t first = 0; first < 5000; first += 700)
    cut.add(DType::kFloat64, data + first * 8, std::min<int64_t>(700, 5000 - first));
  const TensorStats stats = stats_of(DType::kFloat64, data, 5000);
  EXPECT_EQ(whole.finish(stats, 7).projection, cut.finish(stats, 7).projection);
  EXPECT_EQ(whole.finish(stats, 7).magnitudes, cut.finish(stats, 7).magnitudes);
}

TEST(Sketch, CountsValuesByMagnitude) {
  const Sketch s = sketch_of({0, 1e-20, 1, -1.5, 2, 1e30, std::ldexp(1, -31)});
  EXPECT_EQ(s.magnitudes[0], 2);
  EXPECT_EQ(s.magnitudes[1], 1);
  EXPECT_EQ(s.magnitudes[32], 2);  // 1 to 2
  EXPECT_EQ(s.magnitudes[33], 1);
  EXPECT_EQ(s.magnitudes[63], 1);
}

TEST(Sketch, BytesReadBack) {
  Sketch s = sketch_of({3, -4, std::numeric_limits<double>::infinity()});
  s.crc32 = 0xdeadbeef;
  const auto bytes = bytes_of(s);
  ASSERT_EQ(bytes.size(), kSketchBytes);
  const auto read = sketch_from_bytes(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->projection, s.projection);
  EXPECT_EQ(read->magnitudes, s.magnitudes);
  EXPECT_EQ(read->crc32, s.crc32);
  EXPECT_EQ(read->l2, 5);
  EXPECT_EQ(read->positive_inf, 1);
  EXPECT_EQ(bytes_of(*read), bytes);
}

TEST(Sketch, DamagedBytesAreRefused) {
  // A negative number must not make up for elements that are not finite.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [nan, inf, zeros] : {std::tuple<int64_t, int64_t, int64_t>{3, -3, 0},
                                        {0, 0, -1},
                                        {2, 1, 0},
                                        {kMost, kMost, 2}}) {
    Sketch odd = sketch_of({1, 2});
    odd.nan = nan;
    odd.positive_inf = inf;
    odd.zeros = zeros;
    EXPECT_FALSE(sketch_from_bytes(bytes_of(odd)).ok()) << nan << " " << inf << " " << zeros;
  }
  auto bytes = bytes_of(sketch_of({1, 2}));
  EXPECT_FALSE(sketch_from_bytes(Bytes(bytes).first(100)).ok());
  EXPECT_FALSE(sketch_from_bytes({}).ok());
  auto other = bytes;
  other[4] = std::byte{9};  // version
  EXPECT_FALSE(sketch_from_bytes(other).ok());
  std::fill(bytes.end() - 4, bytes.end(), std::byte{0xff});  // NaN
  EXPECT_FALSE(sketch_from_bytes(bytes).ok());
}

}  // namespace
}  // namespace plumb::metrics
