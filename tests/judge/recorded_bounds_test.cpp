// SPDX-License-Identifier: Apache-2.0
//
// Bounds by hand, and the law that no pair of tensors is on the wrong side of its own bounds.
#include "judge/recorded_bounds.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "compare/gather.h"
#include "metrics/non_finite_testing.h"
#include "metrics/tensor_stats.h"

namespace plumb::judge {
namespace {

using metrics::kInf;
using metrics::kNan;

using Number = std::optional<double>;

Statistics extremes(Number min, Number max) {
  Statistics s;
  s.min = min;
  s.max = max;
  return s;
}
Statistics full(Number min, Number max, Number mean, Number l2) {
  Statistics s = extremes(min, max);
  s.mean = mean;
  s.l2 = l2;
  return s;
}

Statistics known(Statistics s, const char* dtype, const std::optional<Shape>& shape) {
  s.dtype = dtype;
  s.shape = shape;
  return s;
}

TEST(RecordedBounds, Cases) {
  const std::optional<Shape> four = Shape{4}, none;
  struct Case {
    const char* what;
    const char* metric;
    Statistics target, golden;
    std::optional<double> value;  // none if nothing is known
    const std::optional<Shape>& shape;
    const char* dtype = "float32";
  };
  const auto g = full(-2, 6, 1, 8);
  const Case cases[] = {
      {"max is off by 4", "max_abs", extremes(-2, 10), g, 4, four},
      {"min is off by 3, max by 2", "max_abs", extremes(-5, 8), g, 3, four},
      {"over the range of 8", "max_err_to_range", extremes(-2, 10), g, 0.5, four},
      {"over the largest, 6", "max_rel", extremes(-2, 9), g, 0.5, four},
      {"golden is constant: its size", "max_err_to_range", extremes(2, 5), extremes(2, 2), 1.5,
       four},
      {"golden is zero", "max_err_to_range", extremes(0, 5), extremes(0, 0), kInf, four},
      {"golden is zero, relative", "max_rel", extremes(0, 5), extremes(0, 0), kInf, four},
      {"both are zero", "max_err_to_range", extremes(0, 0), extremes(0, 0), 0, four},
      {"both are zero, relative", "max_rel", extremes(0, 0), extremes(0, 0), 0, four},
      {"equal", "max_abs", g, g, 0, four},
      {"only max is known", "max_abs", extremes({}, 10), extremes({}, 6), 4, four},
      {"only max: no range", "max_err_to_range", extremes({}, 10), extremes({}, 6), 0, four},
      {"infinite on both sides", "max_abs", extremes(-3, kInf), extremes(-2, kInf), 1, four},
      {"infinite: no range", "max_err_to_range", extremes(-3, kInf), extremes(-2, kInf), 0, four},
      {"NaN", "max_abs", extremes(kNan, kNan), extremes(kNan, kNan), 0, four},
      {"min above max", "max_rel", extremes(1, 2), extremes(3, -3), 0, four},
      {"nothing", "max_abs", {}, {}, 0, four},
      {"zero may be padding", "max_abs", extremes(0, 6), extremes(1, 6), 0, none},
      {"padding is not there", "max_abs", extremes(0, 6), extremes(1, 6), 1, four},
      {"padding adds no other value", "max_abs", extremes(-1, 6), extremes(1, 6), 2, none},
      {"complex", "max_abs", extremes(-2, 10), g, 0, four, "complex64"},
      {"lengths", "norm_ratio", full(-2, 6, 1, 10), g, 1.25, four},
      {"length of zero", "norm_ratio", full(-2, 6, 1, 10), full(0, 0, 0, 0), kInf, four},
      {"lengths of zero", "norm_ratio", full(0, 0, 0, 0), full(0, 0, 0, 0), 1, four},
      {"length overflows", "norm_ratio", full(-2, 6, 1, kInf), g, {}, four},
      {"no length", "norm_ratio", extremes(-2, 6), g, {}, four},
      {"|10 / 8 - 1|", "rel_euclid", full(-2, 6, 1, 10), g, 0.25, four},
      {"4 / 8: the largest error is larger", "rel_euclid", full(-2, 10, 1, 10), g, 0.5, four},
      {"golden is zero: undefined", "rel_euclid", g, full(0, 0, 0, 0), {}, four},
      {"-20 log10 0.1", "sqnr_db", full(-2, 6, 1, 8.8), g, 20, four},
      {"no noise", "sqnr_db", g, g, kInf, four},
      {"distance", "euclid", full(-2, 6, 1, 10), g, 2, four},
      {"2 / sqrt 4", "rmse", full(-2, 6, 1, 10), g, 1, four},
      {"means", "rmse", full(-2, 6, 4, 8), g, 3, four},
      {"count unknown", "rmse", full(-2, 6, 1, 10), g, 0, none},
      {"means", "mean_abs", full(-2, 6, 4, 8), g, 3, four},
      {"a quarter of 4", "mean_abs", full(-2, 10, 1, 8), g, 1, four},
      {"one of four", "equal_share", full(-2, 10, 1, 8), g, 0.75, four},
      {"one of how many?", "equal_share", full(-2, 10, 1, 8), g, 1 - 0x1p-53, none},
      {"none that is known", "equal_share", g, g, {}, four},
      {"not told", "cosine", full(-2, 10, 1, 8), g, {}, four},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.metric) + ": " + c.what);
    const auto number =
        proven(c.metric, known(c.target, c.dtype, c.shape), known(c.golden, c.dtype, c.shape));
    ASSERT_EQ(number.has_value(), c.value.has_value());
    if (!number) continue;
    EXPECT_DOUBLE_EQ(number->value, *c.value);
    // Rounding of records to float32 moves it by about as much, and towards agreement.
    const bool from_above = number->low == -kInf;
    const double proven_end = from_above ? number->high : number->low;
    if (std::isfinite(*c.value)) {
      EXPECT_NEAR(proven_end, *c.value, 2e-4);
    }
    EXPECT_LE(number->low, number->high);
    EXPECT_TRUE(from_above ? number->high >= number->value : number->low <= number->value);
  }
}

// float32(x) and float32(x) of another tool may differ by a step; that is no difference.
TEST(RecordedBounds, RoundingProvesNothing) {
  const std::optional<Shape> shape = Shape{4};
  const auto exact = full(-0.1, 0.3, 0.07, 0.4);
  const auto single = full(-0.1f, 0.3f, 0.07f, 0.4f);
  for (const char* metric : {"max_abs", "max_rel", "max_err_to_range", "rel_euclid", "rmse"})
    EXPECT_EQ(proven(metric, known(exact, "float32", shape), known(single, "float32", shape))->low,
              0);
  EXPECT_FALSE(
      proven("equal_share", known(exact, "float32", shape), known(single, "float32", shape)));
  // torch has the length of float16 data as float16: steps of 1/1024 and up.
  const auto half = full(-0.1, 0.3, 0.07, 0.4 * (1 + 0x1p-11));
  EXPECT_EQ(
      proven("rel_euclid", known(half, "torch.float16", shape), known(exact, "float32", shape))
          ->low,
      0);
  EXPECT_GT(
      proven("rel_euclid", known(half, "torch.float32", shape), known(exact, "float32", shape))
          ->low,
      0);
}

// Integers have one form each, so other bytes are other numbers; -0 and 0 are one number.
TEST(RecordedBounds, ChecksumsOfIntegers) {
  const std::optional<Shape> shape = Shape{4};
  auto a = full(0, 3, 1, 4), b = a;
  a.checksum = "00000001";
  b.checksum = "00000002";
  EXPECT_EQ(proven("equal_share", known(a, "int64", shape), known(b, "torch.int64", shape))->value,
            0.75);
  EXPECT_FALSE(proven("equal_share", known(a, "int64", shape), known(b, "int32", shape)));
  EXPECT_FALSE(proven("equal_share", known(a, "float32", shape), known(b, "float32", shape)));
  b.checksum = "d41d8cd98f00b204e9800998ecf8427e";
  EXPECT_FALSE(proven("equal_share", known(a, "int64", shape), known(b, "int64", shape)));
}

// The metrics of any two tensors lie within the bounds of what would be recorded of them.
TEST(RecordedBounds, HoldForAnyTensors) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 200; ++round) {
    const size_t n = 1 + static_cast<size_t>(round) % 9;
    const float noise = round % 3 == 0 ? 0.01f : round % 3 == 1 ? 1.0f : 30.0f;
    std::vector<float> t(n), g(n);
    for (size_t i = 0; i < n; ++i) {
      g[i] = round % 5 == 0 ? 2.0f : random() % 4 == 0 ? 0.0f : normal(random);
      t[i] = random() % 3 == 0 ? g[i] : g[i] + noise * normal(random);
    }
    const auto bytes_of = [](const std::vector<float>& values) {
      return reinterpret_cast<const std::byte*>(values.data());
    };
    const auto count = static_cast<int64_t>(n);
    const auto record_of = [&](const std::vector<float>& values) {
      const metrics::TensorStats stats =
          metrics::stats_of(DType::kFloat32, bytes_of(values), count);
      const auto single = [](double x) { return static_cast<double>(static_cast<float>(x)); };
      return full(single(static_cast<double>(stats.min)), single(static_cast<double>(stats.max)),
                  single(stats.mean), single(stats.l2()));
    };
    metrics::PairFacts facts;
    facts.target_dtype = facts.golden_dtype = DType::kFloat32;
    facts.sums =
        metrics::pair_sums({DType::kFloat32, bytes_of(t), DType::kFloat32, bytes_of(g), count}, {});
    const std::optional<Shape> shape = Shape{count};
    const auto target = record_of(t), golden = record_of(g);
    for (const metrics::Metric& metric : metrics::metrics()) {
      const auto number =
          proven(metric.name, known(target, "float32", shape), known(golden, "float32", shape));
      if (!number) continue;
      const metrics::Value value = metric.finish(facts);
      if (!value.is_defined()) continue;
      EXPECT_LE(number->low, value.number()) << metric.name << " of round " << round;
      EXPECT_GE(number->high, value.number()) << metric.name << " of round " << round;
    }
  }
}

}  // namespace
}  // namespace plumb::judge
