// SPDX-License-Identifier: Apache-2.0
//
// The values of ordinary and special pairs come from the original (run_cases, case 08). Here is
// what must hold between our own two ways to sum, and how algorithms are chosen.
#include "dialect/msaccucmp/algorithms.h"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msaccucmp {
namespace {

Pairs pairs(std::vector<float> target, std::vector<float> golden, int64_t piece = 1000) {
  return [=](const UsePairs& use) -> Result<void> {
    const auto count = static_cast<int64_t>(target.size());
    for (int64_t i = 0; i < count; i += piece)
      use(target.data() + i, golden.data() + i, std::min(piece, count - i));
    return {};
  };
}

constexpr Wanted kEverything{.deviation = true, .divergence = true};

std::vector<std::string> cells(const std::string& algorithm, const Pairs& source,
                               PairTraits traits = {}) {
  std::vector<std::string> warnings;
  auto selection = select_algorithms(algorithm, warnings);
  return score(*selection, traits, source)->cells;
}

// The fast sums and the definition agree, near and far, whatever the lengths.
TEST(Sums, FastOnesAreThoseOfTheDefinition) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const float noise : {0.f, 1e-6f, 1e-3f, 1.f, 100.f}) {
    for (const size_t count : {1u, 2u, 63u, 64u, 65u, 1000u, 4099u}) {
      std::vector<float> target(count), golden(count);
      for (size_t i = 0; i < count; ++i) {
        golden[i] = normal(random) + 3;
        target[i] = golden[i] + noise * normal(random);
      }
      const auto source = pairs(target, golden, 777);
      const Sums fast = *sum_pairs(source, kEverything);
      const Sums plain = *sum_pairs_plainly(source, kEverything);
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
      near(fast.divergence, plain.divergence);
      EXPECT_EQ(fast.abs_max, plain.abs_max);
      EXPECT_NEAR(fast.rel_max, plain.rel_max, 1e-12 * (1 + plain.rel_max));
    }
  }
}

// Far from zero the textbook variance would have no digits left.
TEST(Sums, DeviationOfLargeValues) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(8388608.f + static_cast<float>(i % 2));
  EXPECT_EQ(cells("5", pairs(values, values)).front(), "(8388608.500;0.500),(8388608.500;0.500)");
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
    EXPECT_EQ(cells(c.algorithm, pairs(c.target, c.golden)).front(), c.expected) << c.what;
}

TEST(Score, ScalarsAndBools) {
  EXPECT_EQ(cells("0", pairs({5}, {-3}), {true, false, {}, {}}).front(), "1.000000");
  EXPECT_THAT(cells("0,1,3", pairs({1, 0}, {1, 1}), {false, true, {}, {}}),
              testing::ElementsAre("0.707107", "NaN", "NaN"));
}

TEST(Score, ReasonsNameTheFile) {
  std::vector<std::string> warnings;
  auto selection = select_algorithms("0", warnings);
  PairTraits traits;
  traits.target_file = "a/{golden}";
  traits.golden_file = "b";
  auto scores = score(*selection, traits, pairs({0, 0}, {1, 1}));
  EXPECT_THAT(scores->reasons.front(), testing::HasSubstr("a/{golden}"));
}

TEST(Score, CodesSayWhyNotToTrustIt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto codes = [](const Pairs& source, PairTraits traits = {}) {
    std::vector<std::string> warnings;
    return score(*select_algorithms("0", warnings), traits, source)->codes;
  };
  using testing::ElementsAre;
  EXPECT_THAT(codes(pairs({1, 2}, {1, 2})), ElementsAre());
  EXPECT_THAT(codes(pairs({0, 0}, {0, 0})), ElementsAre("BOTH_ALL_ZERO"));
  EXPECT_THAT(codes(pairs({1, 0}, {0, 0})), ElementsAre("RIGHT_ALL_ZERO"));
  EXPECT_THAT(codes(pairs({nan, 0}, {0, 0})), ElementsAre("RIGHT_ALL_ZERO", "LEFT_NAN"));
  EXPECT_THAT(codes(pairs({1, 1}, {INFINITY, 1})), ElementsAre("RIGHT_INF"));
  EXPECT_THAT(codes(pairs({1e20f}, {1})), ElementsAre("FLOAT32_OVERFLOW"));
  EXPECT_THAT(codes(pairs({1e-20f}, {-1e-20f})), ElementsAre("BELOW_EPSILON"));
  EXPECT_THAT(codes(pairs({}, {})), ElementsAre("EMPTY"));
  EXPECT_THAT(codes(pairs({5}, {3}), {true, false, {}, {}}), ElementsAre("SCALAR"));
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
