// SPDX-License-Identifier: Apache-2.0
//
// The values of ordinary and special pairs come from the original (run_cases, case 08). Here is
// that the sums are those of the definition, and how algorithms are chosen.
#include "dialect/msaccucmp/algorithms.h"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msaccucmp {
namespace {

struct Pair {
  std::vector<float> target, golden;
};

// What a session would gather, in pieces.
Sums gathered(const Selection& selection, const Pair& pair, size_t piece = 777) {
  const metrics::Request request = request_for(selection);
  metrics::PairPass pass;
  pass.relative = request.relative;
  pass.least_golden = request.least_golden;
  const auto for_each_piece = [&](auto&& use) {
    for (size_t i = 0; i < pair.target.size(); i += piece)
      use(metrics::PairPiece{
          DType::kFloat32, reinterpret_cast<const std::byte*>(pair.target.data() + i),
          DType::kFloat32, reinterpret_cast<const std::byte*>(pair.golden.data() + i),
          static_cast<int64_t>(std::min(piece, pair.target.size() - i))});
  };
  metrics::PairFacts facts;
  for_each_piece([&](const metrics::PairPiece& each) { facts.sums.append(pair_sums(each, pass)); });
  const metrics::SecondPass fresh(request, facts);
  facts.second_pass = fresh;
  for_each_piece([&](const metrics::PairPiece& each) {
    metrics::SecondPass part = fresh;
    part.add(each, each);
    facts.second_pass.append(part);
  });
  return sums_of(facts);
}

Selection all() {
  std::vector<std::string> warnings;
  return *select_algorithms("all", warnings);
}

Scores scored(const std::string& algorithm, const Pair& pair, const PairTraits& traits = {}) {
  std::vector<std::string> warnings;
  const Selection selection = *select_algorithms(algorithm, warnings);
  return score(selection, traits, gathered(selection, pair));
}
std::vector<std::string> cells(const std::string& algorithm, const Pair& pair,
                               const PairTraits& traits = {}) {
  return scored(algorithm, pair, traits).cells;
}

// By definition, in plain loops; NaN and infinity run through.
Sums definition(const Pair& pair) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  Sums s;
  const auto each = [&](auto&& use) {
    for (size_t i = 0; i < pair.target.size(); ++i)
      use(static_cast<double>(pair.target[i]), static_cast<double>(pair.golden[i]));
  };
  double t_min = INFINITY, t_max = -INFINITY, g_min = INFINITY, g_max = -INFINITY;
  each([&](double t, double g) {
    const double error = std::fabs(t - g);
    const double relative = std::fabs(g) > kEpsilon ? std::fabs(t / g - 1) : 0;
    ++s.count;
    s.t_sum += t;
    s.g_sum += g;
    s.tt += t * t;
    s.gg += g * g;
    s.tg += t * g;
    s.dd += error * error;
    s.abs_sum += error;
    s.rel_sum += relative;
    s.abs_max = std::isnan(error) ? error : std::max(error, s.abs_max);
    s.rel_max = std::isnan(relative) ? relative : std::max(relative, s.rel_max);
    t_min = std::min(t_min, t);
    t_max = std::max(t_max, t);
    g_min = std::min(g_min, g);
    g_max = std::max(g_max, g);
  });
  const auto n = static_cast<double>(s.count);
  const auto share = [](double value, double min, double max) {
    return std::max(max == min ? value : (value - min) / (max - min), 0x1p-23);
  };
  double p_sum = 0, q_sum = 0, logs = 0;
  each([&](double t, double g) {
    s.t_squares += (t - s.t_sum / n) * (t - s.t_sum / n);
    s.g_squares += (g - s.g_sum / n) * (g - s.g_sum / n);
    const double p = share(t, t_min, t_max), q = share(g, g_min, g_max);
    p_sum += p;
    q_sum += q;
    logs += p * std::log(p / q);
  });
  s.divergence = logs / p_sum - std::log(p_sum / q_sum);
  return s;
}

// The gathered sums and the definition agree, near and far, whatever the lengths.
TEST(Sums, AreThoseOfTheDefinition) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const float noise : {0.f, 1e-6f, 1e-3f, 1.f, 100.f}) {
    for (const size_t count : {1u, 2u, 63u, 64u, 65u, 1000u, 4099u}) {
      Pair pair{std::vector<float>(count), std::vector<float>(count)};
      for (size_t i = 0; i < count; ++i) {
        pair.golden[i] = i % 50 == 7 ? 1e-17f : normal(random) + 3;
        pair.target[i] = pair.golden[i] + noise * normal(random);
      }
      const Sums fast = gathered(all(), pair), plain = definition(pair);
      const auto near = [&](double a, double b) {
        EXPECT_NEAR(a, b, 1e-10 * std::max(1.0, std::fabs(b))) << noise << " " << count;
      };
      EXPECT_EQ(fast.count, plain.count);
      near(fast.t_sum, plain.t_sum);
      near(fast.g_sum, plain.g_sum);
      near(fast.tt, plain.tt);
      near(fast.gg, plain.gg);
      near(fast.tg, plain.tg);
      near(fast.dd, plain.dd);
      near(fast.abs_sum, plain.abs_sum);
      near(fast.rel_sum, plain.rel_sum);
      near(fast.t_squares, plain.t_squares);
      near(fast.g_squares, plain.g_squares);
      EXPECT_NEAR(fast.divergence, plain.divergence, 1e-8 + 1e-7 * plain.divergence);
      EXPECT_EQ(fast.abs_max, plain.abs_max);
      EXPECT_NEAR(fast.rel_max, plain.rel_max, 1e-12 * (1 + plain.rel_max));
    }
  }
}

// Where a side holds what is not finite, the other keeps its own numbers.
TEST(Sums, RunThroughWhatIsNotFinite) {
  Pair pair;
  for (int i = 0; i < 2000; ++i) {
    pair.golden.push_back(8388608.f + static_cast<float>(i % 2));
    pair.target.push_back(i % 3 == 0 ? INFINITY : 1.f);
  }
  const Sums odd = gathered(all(), pair), plain = definition(pair);
  EXPECT_NEAR(odd.g_squares, 500, 1e-6);
  EXPECT_EQ(odd.g_sum, plain.g_sum);
  EXPECT_EQ(odd.t_sum, INFINITY);
  EXPECT_EQ(odd.abs_max, INFINITY);
  EXPECT_TRUE(std::isnan(odd.t_squares) && std::isnan(odd.divergence));
  EXPECT_EQ(odd.t_inf, 667);
}

// Far from zero the textbook variance would have no digits left.
TEST(Sums, DeviationOfLargeValues) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(8388608.f + static_cast<float>(i % 2));
  EXPECT_EQ(cells("5", {values, values}).front(), "(8388608.500;0.500),(8388608.500;0.500)");
}

TEST(Score, SpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  struct Case {
    const char* what;
    std::vector<float> target, golden;
    const char* algorithm;
    const char* expected;
  };
  const Case kCases[] = {
      {"both zero", {0, 0}, {0, 0}, "0", "1.0"},
      {"target zero", {0, 0}, {1, 2}, "0", "NaN"},
      {"golden zero", {1, 2}, {0, 0}, "0", "NaN"},
      {"opposite", {1, 2}, {-1, -2}, "0", "-1.000000"},
      {"float32 norms overflow", {1e20f, 1e20f}, {1e20f, 1e20f}, "0", "0.000000"},
      {"NaN is shown", {nan, 1}, {1, 1}, "0", "nan"},
      {"NaN at a golden zero is hidden", {nan, 1}, {0, 1}, "2", "0.000000"},
      {"NaN wins the maximum", {nan, 1}, {1, 5}, "1", "nan"},
      {"NaN wins the maximum, last", {1, nan}, {5, 1}, "1", "nan"},
      {"infinite", {inf, 1}, {1, 1}, "1", "inf"},
      {"tiny golden counts as zero", {1, 1}, {1e-17f, 1}, "8", "0.000000"},
      {"no minus zero", {1, 2}, {1, 2}, "4", "0.000000"},
      {"empty", {}, {}, "1", "NaN"},
      {"empty, mean", {}, {}, "6", "nan"},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(cells(c.algorithm, {c.target, c.golden}).front(), c.expected) << c.what;
}

TEST(Score, ScalarsAndBools) {
  EXPECT_EQ(cells("0", {{5}, {-3}}, {true, false, {}, {}}).front(), "1.000000");
  EXPECT_THAT(cells("0,1,3", {{1, 0}, {1, 1}}, {false, true, {}, {}}),
              testing::ElementsAre("0.707107", "NaN", "NaN"));
}

TEST(Score, ReasonsNameTheFile) {
  PairTraits traits;
  traits.target_file = "a/{golden}";
  traits.golden_file = "b";
  EXPECT_THAT(scored("0", {{0, 0}, {1, 1}}, traits).reasons.front(),
              testing::HasSubstr("a/{golden}"));
}

TEST(Score, CodesSayWhyNotToTrustIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto codes = [](const Pair& pair, const PairTraits& traits = {}) {
    return scored("0", pair, traits).codes;
  };
  using testing::ElementsAre;
  EXPECT_THAT(codes({{1, 2}, {1, 2}}), ElementsAre());
  EXPECT_THAT(codes({{0, 0}, {0, 0}}), ElementsAre("BOTH_ALL_ZERO"));
  EXPECT_THAT(codes({{1, 0}, {0, 0}}), ElementsAre("RIGHT_ALL_ZERO"));
  EXPECT_THAT(codes({{nan, 0}, {0, 0}}), ElementsAre("RIGHT_ALL_ZERO", "LEFT_NAN"));
  EXPECT_THAT(codes({{1, 1}, {INFINITY, 1}}), ElementsAre("RIGHT_INF"));
  EXPECT_THAT(codes({{1e20f}, {1}}), ElementsAre("FLOAT32_OVERFLOW"));
  EXPECT_THAT(codes({{1e-20f}, {-1e-20f}}), ElementsAre("BELOW_EPSILON"));
  EXPECT_THAT(codes({{}, {}}), ElementsAre("EMPTY"));
  EXPECT_THAT(codes({{5}, {3}}, {true, false, {}, {}}), ElementsAre("SCALAR"));
}

TEST(SelectAlgorithms, NumbersAndNames) {
  const auto names = [](std::string_view text) {
    std::vector<std::string> warnings, found;
    auto selection = select_algorithms(text, warnings);
    if (!selection) return std::vector<std::string>{"error"};
    for (const Algorithm* each : *selection) found.emplace_back(each->name);
    for (size_t i = 0; i < warnings.size(); ++i) found.emplace_back("warning");
    return found;
  };
  using testing::ElementsAre;
  EXPECT_EQ(names("all").size(), 10u);
  EXPECT_THAT(names("4,0,4"), ElementsAre("KullbackLeiblerDivergence", "CosineSimilarity"));
  EXPECT_THAT(names("MaxAbsoluteError, 9"), ElementsAre("MaxAbsoluteError", "MeanRelativeError"));
  EXPECT_THAT(names("0,Cosine"), ElementsAre("CosineSimilarity", "warning"));
  EXPECT_THAT(names("10"), ElementsAre("error"));
  EXPECT_THAT(names("-1"), ElementsAre("error"));
  EXPECT_THAT(names(""), ElementsAre("error"));
}

TEST(CountsAsScalar, BySumOfTheDimensions) {
  const auto is = [](std::vector<int64_t> shape) { return counts_as_scalar(shape); };
  EXPECT_TRUE(is({}));
  EXPECT_TRUE(is({1, 1}));
  EXPECT_TRUE(is({2, 0}));
  EXPECT_FALSE(is({2}));
  EXPECT_FALSE(is({0, 4}));
  EXPECT_FALSE(is({INT64_MAX, INT64_MAX, 5}));
}

}  // namespace
}  // namespace plumb::msaccucmp
