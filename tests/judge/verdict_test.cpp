// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict.h"

#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/checksums.h"
#include "metrics/non_finite_testing.h"

namespace plumb::judge {
namespace {

using metrics::kInf;
using metrics::kNan;
using metrics::Metric;
using metrics::PairFacts;
using metrics::Value;
using result::Row;
using result::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The sums of a pair, by the plainest loop.
PairFacts facts_of(const std::vector<double>& target, const std::vector<double>& golden) {
  PairFacts facts;
  metrics::PairSums& s = facts.sums;
  s.t_fits_half = s.g_fits_half = s.t_fits_bfloat16 = s.g_fits_bfloat16 = false;
  s.has_relative = s.has_shares = true;
  for (size_t i = 0; i < target.size(); ++i) {
    const double t = target[i], g = golden[i], d = t - g;
    ++s.count;
    s.t_nan += std::isnan(t);
    s.g_nan += std::isnan(g);
    s.t_inf += std::isinf(t);
    s.g_inf += std::isinf(g);
    const bool agree = t == g || (std::isnan(t) && std::isnan(g));
    s.equal += agree;
    s.rel_below_1e3 += agree || std::abs(d) < 0.001 * std::abs(g);
    s.rel_below_5e3 += agree || std::abs(d) < 0.005 * std::abs(g);
    if (!std::isfinite(t) || !std::isfinite(g)) {
      s.same_nan += std::isnan(t) && std::isnan(g);
      s.same_inf += std::isinf(t) && t == g;
      s.nan_only_in_target += std::isnan(t) && !std::isnan(g);
      s.nan_only_in_golden += std::isnan(g) && !std::isnan(t);
      s.inf_mismatch += !std::isnan(t) && !std::isnan(g) && t != g;
      continue;
    }
    s.t_min = s.finite == 0 ? t : std::min(s.t_min, t);
    s.t_max = s.finite == 0 ? t : std::max(s.t_max, t);
    s.g_min = s.finite == 0 ? g : std::min(s.g_min, g);
    s.g_max = s.finite == 0 ? g : std::max(s.g_max, g);
    ++s.finite;
    s.t_sum += t;
    s.g_sum += g;
    s.tt += t * t;
    s.gg += g * g;
    s.tg += t * g;
    s.dd += d * d;
    s.abs_sum += std::abs(d);
    s.abs_max = std::max(s.abs_max, std::abs(d));
    s.t_zeros += t == 0;
    s.g_zeros += g == 0;
    if (g != 0) {
      s.rel_max = std::max(s.rel_max, std::abs(d / g));
      s.rel_sum += std::abs(d / g);
    }
    s.off_at_zero += g == 0 && t != 0;
  }
  return facts;
}

std::vector<Limit> parse(std::string_view limits) {
  auto profile = parse_profile(fmt::format("limits = {{ {} }}", limits), "test");
  EXPECT_TRUE(profile) << profile.error().what << ", " << profile.error().where;
  return profile->any.limits;
}
Limits limits_of(std::string_view limits, std::string_view warnings = "") {
  Limits set;
  set.limits = parse(limits);
  if (!warnings.empty()) set.warnings = parse(warnings);
  return set;
}

Row judged(const Limits& limits, const PairFacts& facts) {
  std::vector<const Metric*> columns;
  Row row;
  for (const auto* list : {&limits.limits, &limits.warnings})
    for (const Limit& limit : *list) {
      columns.push_back(limit.metric);
      row.values.push_back(limit.metric->finish(facts));
    }
  judge(limits, facts, columns, row);
  return row;
}

// With these values in place of the metrics' own.
Row judged(const Limits& limits, const std::vector<Value>& values) {
  std::vector<const Metric*> columns;
  for (const Limit& limit : limits.limits) columns.push_back(limit.metric);
  Row row;
  row.values = values;
  judge(limits, facts_of({1, 2}, {1, 3}), columns, row);
  return row;
}

TEST(Judge, Cases) {
  using enum Verdict;
  struct Case {
    const char* name;
    std::vector<double> target, golden;
    std::string_view limits;
    Verdict verdict;
    std::vector<std::string> reasons;
    std::string message;
    std::string hint;
  };
  const std::string_view both = "cosine = '>= 0.9', rel_euclid = '<= 0.1'";
  const Case cases[] = {
      {"empty", {}, {}, both, kPass, {"empty"}, "both tensors are empty", ""},
      {"equal", {1, 2, 3}, {1, 2, 3}, both, kPass, {}, "", ""},
      {"both zero", {0, 0}, {0, 0}, both, kPass, {}, "", ""},
      {"constant, undefined but equal", {2, 2}, {2, 2}, "pearson = '>= 0.9'", kPass, {}, "", ""},
      {"one broken",
       {0, 5},
       {3, 4},  // cosine 4/5
       "cosine = '>= 0.9', max_abs = '<= 9'",
       kFail,
       {"limit:cosine"},
       "cosine 0.8 is below 0.9",
       "would pass with cosine >= 0.8"},
      {"both broken, in the order of the profile",
       {0, 5},
       {3, 4},  // distance sqrt(9 + 1) / 5
       "rel_euclid = '<= 0.1', cosine = '>= 0.9'",
       kFail,
       {"limit:rel_euclid", "limit:cosine"},
       "rel_euclid 0.632 is above 0.1; cosine 0.8 is below 0.9",
       "would pass with rel_euclid <= 0.633, cosine >= 0.8"},
      {"strict limits",
       {3, 4},
       {3, 3},
       "equal_share = '> 0.5', max_abs = '< 1'",
       kFail,
       {"limit:equal_share", "limit:max_abs"},
       "equal_share 0.5 is not above 0.5; max_abs 1 is not below 1",
       "would pass with equal_share >= 0.5, max_abs <= 1"},
      {"ratio",
       {6, 8},
       {3, 4},
       "norm_ratio = 'within 0.02'",
       kFail,
       {"limit:norm_ratio"},
       "norm_ratio 2 is not within 0.02 of 1",
       ""},  // fifty times the limit: nobody should loosen it that far
      {"as many digits as it takes",
       {1.00010004, 0},
       {1, 0},
       "norm_ratio = 'within 0.0001'",
       kFail,
       {"limit:norm_ratio"},
       "norm_ratio 1.00010004 is not within 0.0001 of 1",
       "would pass with norm_ratio within 0.000101"},
      {"infinite error",
       {0, 1, 5},
       {0, 0, 5},
       "max_rel = '< 0.01', cosine = '> 0.99'",
       kFail,
       {"limit:max_rel", "limit:cosine"},
       "max_rel inf is not below 0.01; cosine 0.981 is not above 0.99",
       ""},
      {"NaN in target",
       {kNan, kNan, 1},
       {1, 1, 1},
       both,
       kFail,
       {"nan_only_in_target"},
       "2 NaN in target where golden has none",
       ""},
      {"NaN in golden, infinity in target",
       {1, kInf, 1},
       {kNan, 1, 1},
       both,
       kFail,
       {"nan_only_in_golden", "inf_mismatch"},
       "1 NaN in golden where target has none; 1 infinite on one side, finite or of the other sign "
       "on the other",
       ""},
      {"infinities of both signs",
       {kInf, 1},
       {-kInf, 1},
       both,
       kFail,
       {"inf_mismatch"},
       "1 infinite on one side, finite or of the other sign on the other",
       ""},
      {"NaN first, then limits",
       {kNan, 0, 5},
       {1, 3, 4},
       both,
       kFail,
       {"nan_only_in_target", "limit:cosine", "limit:rel_euclid"},
       "1 NaN in target where golden has none; cosine 0.8 is below 0.9; rel_euclid 0.632 is above "
       "0.1",
       ""},
      {"nothing finite, all agree",
       {kNan, kInf},
       {kNan, kInf},
       both,
       kPass,
       {},
       "no value is finite; NaN and infinities agree in every place",
       ""},
      {"nothing finite, not all agree",
       {kNan, kInf},
       {kNan, -kInf},
       both,
       kFail,
       {"inf_mismatch", "undefined:cosine", "undefined:rel_euclid"},
       "1 infinite on one side, finite or of the other sign on the other; cosine is undefined: no "
       "pair of finite values; rel_euclid is undefined: no pair of finite values",
       ""},
      {"nothing finite, and a limit on that",
       {kNan},
       {kNan},
       "cosine = '>= 0.9', target_nan = '<= 0'",
       kFail,
       {"limit:target_nan"},
       "target_nan 1 is above 0",
       "would pass with target_nan <= 1"},
      {"golden all zero",
       {1, 2},
       {0, 0},
       "cosine = '>= 0.9'",
       kInconclusive,
       {"all_zero_golden", "undefined:cosine"},
       "golden is all zeros; cosine is undefined: golden is all zeros",
       ""},
      {"target all zero",
       {0, 0},
       {1, 2},
       "cosine = '>= 0.9'",
       kInconclusive,
       {"all_zero_target", "undefined:cosine"},
       "target is all zeros; cosine is undefined: target is all zeros",
       ""},
      {"target all zero, and a limit broken",
       {0, 0},
       {1, 2},
       both,
       kFail,
       {"all_zero_target", "limit:rel_euclid", "undefined:cosine"},
       "target is all zeros; rel_euclid 1 is above 0.1; cosine is undefined: target is all zeros",
       ""},
      {"constants that differ",
       {2, 2},
       {2.001, 2.001},
       "pearson = '>= 0.9', cosine = '>= 0.9'",
       kInconclusive,
       {"undefined:pearson"},
       "pearson is undefined: both sides are constant",
       ""},
      {"second pass missing",
       {1, 2},
       {1, 2.001},
       "kl = '< 0.005'",
       kInconclusive,
       {"undefined:kl"},
       "kl is undefined: not computed",
       ""},
  };
  for (const Case& c : cases) {
    const Row row = judged(limits_of(c.limits), facts_of(c.target, c.golden));
    EXPECT_EQ(row.verdict, c.verdict) << c.name;
    EXPECT_EQ(row.reasons, c.reasons) << c.name;
    EXPECT_EQ(row.message, c.message) << c.name;
    EXPECT_EQ(row.hint, c.hint) << c.name;
    EXPECT_EQ(row.suspicious, row.message.starts_with("no value is finite")) << c.name;
  }
}

// Values that no honest metric would give, and bounds in place of values.
TEST(Judge, Values) {
  using enum Verdict;
  struct Case {
    const char* name;
    std::string_view limits;
    Value value;
    Verdict verdict;
    std::string_view reason, message;
  };
  const Case cases[] = {
      {"NaN at least", "cosine = '>= -1'", Value::of(kNan), kFail, "limit:cosine",
       "cosine is not a number"},
      {"NaN at most", "rmse = '<= 1e300'", Value::of(kNan), kFail, "limit:rmse",
       "rmse is not a number"},
      {"NaN within", "norm_ratio = 'within 1e300'", Value::of(kNan), kFail, "limit:norm_ratio",
       "norm_ratio is not a number"},
      {"bound holds", "bulk_rel_euclid = '<= 0.1'", Value::at_most(0.1), kPass, "", ""},
      {"strict bound", "bulk_rel_euclid = '< 0.1'", Value::at_most(0.1), kInconclusive,
       "undefined:bulk_rel_euclid", "bulk_rel_euclid is known only to be at most 0.1"},
      {"bound too high", "bulk_rel_euclid = '<= 0.1'", Value::at_most(0.23456), kInconclusive,
       "undefined:bulk_rel_euclid", "bulk_rel_euclid is known only to be at most 0.235"},
      {"an upper bound shows no lower one", "cosine = '>= 0.9'", Value::at_most(0.95),
       kInconclusive, "undefined:cosine", "cosine is known only to be at most 0.95"},
      {"undefined", "cosine = '>= 0.9'", Value::undefined("why not"), kInconclusive,
       "undefined:cosine", "cosine is undefined: why not"},
      {"counts keep their digits", "max_ulp = '<= 4'", Value::of(123456), kFail, "limit:max_ulp",
       "max_ulp 123456 is above 4"},
      {"broken by a hair", "cosine = '>= 0.999'", Value::of(0.99899999), kFail, "limit:cosine",
       "cosine 0.99899999 is below 0.999"},
      {"nines count", "cosine = '>= 0.99999'", Value::of(0.9998765), kFail, "limit:cosine",
       "cosine 0.99988 is below 0.99999"},
  };
  for (const Case& c : cases) {
    const Row row = judged(limits_of(c.limits), std::vector{c.value});
    EXPECT_EQ(row.verdict, c.verdict) << c.name;
    EXPECT_EQ(row.message, c.message) << c.name;
    if (c.reason.empty())
      EXPECT_THAT(row.reasons, IsEmpty()) << c.name;
    else
      EXPECT_THAT(row.reasons, ElementsAre(c.reason)) << c.name;
  }
}

TEST(Judge, MissingColumnsComeFromTheFacts) {
  Row row;
  judge(limits_of("cosine = '>= 0.9'"), facts_of({0, 5}, {3, 4}), {}, row);
  EXPECT_THAT(row.reasons, ElementsAre("limit:cosine"));
}

// Within a factor of two: the error is more than half of what is allowed.
TEST(Judge, SuspiciousBands) {
  struct Case {
    std::string_view limit;
    double value;
    bool suspicious;
  };
  const Case cases[] = {
      {"cosine = '>= 0.99'", 0.9951, false},
      {"cosine = '>= 0.99'", 0.9949, true},
      {"cosine = '> 0.99'", 0.9949, true},
      {"cosine = '> 0.99'", 1, false},
      {"equal_share = '>= 1'", 1, false},
      {"equal_share = '>= 0.5'", 0.76, false},
      {"equal_share = '>= 0.5'", 0.74, true},
      {"rmse = '<= 1'", 0.5, false},
      {"rmse = '< 1'", 0.501, true},
      {"rmse = '<= 0'", 0, false},
      {"norm_ratio = 'within 0.02'", 1, false},
      {"norm_ratio = 'within 0.02'", 1.009, false},
      {"norm_ratio = 'within 0.02'", 1.011, true},
      {"norm_ratio = 'within 0.02'", 0.989, true},
      {"norm_ratio = '<= 1.1'", 1.04, false},
      {"norm_ratio = '<= 1.1'", 1.06, true},
      {"norm_ratio = '>= 0.9'", 0.96, false},
      {"norm_ratio = '>= 0.9'", 0.94, true},
      {"sqnr_db = '>= 20'", 26.1, false},
      {"sqnr_db = '>= 20'", 26, true},
      {"sqnr_db = '>= 20'", kInf, false},
      {"target_max = '<= 6'", 6, false},
  };
  for (const Case& c : cases) {
    const Row row = judged(limits_of(c.limit), std::vector{Value::of(c.value)});
    EXPECT_EQ(row.verdict, Verdict::kPass) << c.limit << " " << c.value;
    EXPECT_EQ(row.suspicious, c.suspicious) << c.limit << " " << c.value;
    EXPECT_EQ(row.message.empty(), !c.suspicious) << row.message;
    EXPECT_THAT(row.reasons, IsEmpty());
  }
  const Row row = judged(limits_of("cosine = '>= 0.99'"), std::vector{Value::of(0.9914)});
  EXPECT_EQ(row.message, "cosine 0.9914 is near its limit 0.99");
}

TEST(Judge, Warnings) {
  const Limits limits = limits_of("cosine = '>= 0.5'", "sqnr_db = '>= 20', pearson = '>= 0.98'");
  const Row broken = judged(limits, facts_of({1, 2, 3.5}, {1, 2, 3}));  // 10 log10(14 / 0.25)
  EXPECT_EQ(broken.verdict, Verdict::kPass);
  EXPECT_TRUE(broken.suspicious);
  EXPECT_THAT(broken.reasons, ElementsAre("warning:sqnr_db"));
  EXPECT_EQ(broken.message, "sqnr_db 17.5 is below 20");
  EXPECT_EQ(broken.hint, "");

  const Row undefined = judged(limits, facts_of({2, 2, 2}, {2, 2, 2.01}));
  EXPECT_TRUE(undefined.suspicious);
  EXPECT_THAT(undefined.reasons, ElementsAre("warning:pearson"));
  EXPECT_EQ(undefined.message, "pearson is undefined: target is constant");

  const Row equal = judged(limits, facts_of({2, 2, 2}, {2, 2, 2}));
  EXPECT_FALSE(equal.suspicious);
  EXPECT_THAT(equal.reasons, IsEmpty());

  const Row fails = judged(limits, facts_of({-1, 2, -3}, {1, 2, 3}));
  EXPECT_EQ(fails.verdict, Verdict::kFail);
  EXPECT_FALSE(fails.suspicious);
  EXPECT_THAT(fails.reasons, ElementsAre("limit:cosine"));
}

TEST(Judge, ExactMeansSameTypeAndSameBytes) {
  auto profile = load_profile("exact");
  ASSERT_TRUE(profile);
  using enum Verdict;
  struct Case {
    const char* name;
    std::vector<double> target, golden;
    DType target_dtype;
    const char *target_bytes, *golden_bytes;  // instead of those of the values
    Verdict verdict;
    std::vector<std::string> reasons;
    const char* message;
  };
  const Case cases[] = {
      {"same", {1, 2}, {1, 2}, DType::kFloat32, "a", "a", kPass, {}, ""},
      {"signs of zeros",
       {0., 1},
       {-0., 1},
       DType::kFloat32,
       "a",
       "b",
       kFail,
       {"limit:equal_share"},
       "the bytes differ: checksum e8b7be43 of target, 71beeff9 of golden"},
      {"payloads of NaN",
       {kNan},
       {kNan},
       DType::kFloat32,
       "a",
       "b",
       kFail,
       {"limit:equal_share"},
       "the bytes differ: checksum e8b7be43 of target, 71beeff9 of golden"},
      {"types",
       {1},
       {1},
       DType::kFloat64,
       "a",
       "a",
       kFail,
       {"limit:equal_share"},
       "target is float64, golden float32"},
      {"values differ",
       {1, 2},
       {1, 3},
       DType::kFloat32,
       "a",
       "b",
       kFail,
       {"limit:equal_share"},
       "equal_share 0.5 is below 1"},
      {"not gathered",
       {1},
       {1},
       DType::kFloat32,
       nullptr,
       nullptr,
       kInconclusive,
       {"undefined:target_crc32"},
       "the bytes were not compared"},
      {"empty",
       {},
       {},
       DType::kFloat32,
       nullptr,
       nullptr,
       kPass,
       {"empty"},
       "both tensors are empty"},
      {"empty, other type",
       {},
       {},
       DType::kFloat16,
       nullptr,
       nullptr,
       kFail,
       {"limit:equal_share"},
       "target is float16, golden float32"},
      {"NaN",
       {kNan, 1},
       {1, 1},
       DType::kFloat32,
       "a",
       "b",
       kFail,
       {"nan_only_in_target", "limit:equal_share"},
       "1 NaN in target where golden has none; equal_share 0.5 is below 1"},
  };
  for (const Case& c : cases) {
    PairFacts facts = facts_of(c.target, c.golden);
    facts.target_dtype = c.target_dtype;
    if (c.target_bytes != nullptr) {
      metrics::Checksums crc32;  // Python: zlib.crc32(b"a")
      crc32.target.add(as_bytes(c.target_bytes));
      crc32.golden.add(as_bytes(c.golden_bytes));
      facts.second_pass.hold(metrics::accumulated(crc32));
    }
    const Row row = judged(profile->for_pair(facts), facts);
    EXPECT_EQ(row.verdict, c.verdict) << c.name;
    EXPECT_EQ(row.reasons, c.reasons) << c.name;
    EXPECT_EQ(row.message, c.message) << c.name;
    EXPECT_EQ(row.hint, "") << c.name;
  }
}

// What a hint says must be true: as limits, it passes. And it gives away little.
TEST(Judge, HintsPassWhenTakenAsLimits) {
  const Limits tight = limits_of(
      "cosine = '>= 1', rel_euclid = '<= 0', max_abs = '< 0', norm_ratio = 'within 0', "
      "sqnr_db = '>= 1000', max_err_to_range = '<= 0', equal_share = '> 1', rmse = '< 0'");
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  int hints = 0;
  for (int i = 0; i < 2000; ++i) {
    const double error = std::pow(10, -15.0 * static_cast<double>(i) / 2000);
    const double scale = std::pow(10, static_cast<double>(i % 200) - 100);
    std::vector<double> target, golden;
    for (int j = 0; j < 5; ++j) {
      golden.push_back(normal(engine) * scale);
      target.push_back(golden.back() * (1 + error * normal(engine)));
    }
    const PairFacts facts = facts_of(target, golden);
    const Row row = judged(tight, facts);
    ASSERT_EQ(row.verdict, Verdict::kFail);
    constexpr std::string_view kStart = "would pass with ";
    ASSERT_TRUE(row.hint.starts_with(kStart)) << row.hint << row.message;
    std::string toml;  // "cosine >= 0.9, ..." as cosine = '>= 0.9'
    std::string_view rest = std::string_view(row.hint).substr(kStart.size());
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(", "));
      rest.remove_prefix(std::min(rest.size(), one.size() + 2));
      const size_t space = one.find(' ');
      toml += fmt::format("{}{} = '{}'", toml.empty() ? "" : ", ", one.substr(0, space),
                          one.substr(space + 1));
    }
    Limits loose = limits_of(toml);
    for (const Limit& limit : loose.limits) {
      const double value = limit.metric->finish(facts).number();
      const double excess = limit.comparison == Comparison::kWithin
                                ? limit.bound - std::abs(value - 1)
                                : std::abs(limit.bound - value);
      EXPECT_LE(excess, 0.011 * std::max(std::abs(value), 1e-300)) << to_string(limit);
      ++hints;
    }
    for (const Limit& limit : tight.limits)  // those it does not name hold already
      if (!row.hint.ends_with(limit.metric->name) &&
          row.hint.find(std::string(limit.metric->name) + " ") == std::string::npos)
        loose.limits.push_back(limit);
    const Row again = judged(loose, facts);
    EXPECT_EQ(again.verdict, Verdict::kPass) << row.hint << "\n" << again.message;
  }
  EXPECT_GT(hints, 10000);
}

// A Sigmoid is computed as 0.5 plus something: where it is 0.00001, the last bit of 0.5 shows.
TEST(Judge, RoundingOfSharesIsExcused) {
  struct Case {
    const char* name;
    std::vector<double> target, golden;
    Verdict verdict;
    DType dtype = DType::kFloat32;
  };
  const Case cases[] = {
      {"tiny", {1.01e-5, 2.01e-5}, {1e-5, 2e-5}, Verdict::kPass},
      {"more than rounding", {1.1e-5, 2.1e-5}, {1e-5, 2e-5}, Verdict::kFail},
      {"lost", {0, 0}, {1e-7, 2e-7}, Verdict::kFail},
      {"no shares", {-1.01e-5, 2.01e-5}, {-1e-5, 2e-5}, Verdict::kFail},
      {"above 1", {1.01e-5, 2}, {1e-5, 2}, Verdict::kPass},  // within the limit
      {"float16", {1.01e-5, 2.01e-5}, {1e-5, 2e-5}, Verdict::kFail, DType::kFloat16},
      {"not a number", {kNan, 2.01e-5}, {1e-5, 2e-5}, Verdict::kFail},
  };
  for (const Case& c : cases) {
    PairFacts facts = facts_of(c.target, c.golden);
    facts.target_dtype = c.dtype;
    Row row = judged(limits_of("rel_euclid = '<= 0.001'"), facts);
    excuse_rounding_of_shares(facts, row);
    EXPECT_EQ(row.verdict, c.verdict) << c.name << ": " << row.message;
    EXPECT_EQ(row.suspicious, c.name == std::string_view("tiny")) << c.name;
  }
}

// A profile may judge integers as numbers; ids among them are wrong all the same.
TEST(Judge, IdsThatDifferAreRemarked) {
  struct Case {
    const char* name;
    DType dtype;
    std::vector<double> target;
    std::optional<bool> are_ids;
    bool is_suspicious;
  };
  const std::vector<double> golden = {300, 301, 302, 500};
  const Case cases[] = {
      {"one off", DType::kInt64, {300, 301, 303, 500}, {}, true},
      {"equal", DType::kInt64, golden, {}, false},
      {"codes", DType::kInt16, {300, 301, 303, 500}, {}, false},
      {"no ids, by the graph", DType::kInt32, {300, 301, 303, 500}, false, false},
      {"fails", DType::kInt32, {0, 0, 0, 0}, {}, false},
  };
  for (const Case& c : cases) {
    PairFacts facts = facts_of(c.target, golden);
    facts.target_dtype = facts.golden_dtype = c.dtype;
    facts.are_ids = c.are_ids;
    Row row = judged(limits_of("cosine = '>= 0.98'"), facts);
    remark_on_ids(facts, row);
    EXPECT_EQ(row.suspicious, c.is_suspicious) << c.name << ": " << row.message;
  }
}

TEST(Floor, TwiceTheNoise) {
  const std::vector<double> golden = {1, -2, 3, 4.5};
  struct Case {
    const char* name;
    std::vector<double> second;
    DType target, golden_type;
    double rel_euclid, max_err_to_range;
  };
  const double length = std::sqrt(1 + 4 + 9 + 20.25), range = 6.5;
  const Case cases[] = {
      {"noise", {1, -2, 3, 4.75}, DType::kFloat32, DType::kFloat32, 0.5 / length, 0.5 / range},
      {"none, float32", golden, DType::kFloat32, DType::kFloat32, 0x1p-23, 0x1p-23},
      {"none, float16", golden, DType::kFloat16, DType::kFloat32, 0x1p-10, 0x1p-10},
      {"none, bfloat16", golden, DType::kFloat32, DType::kBFloat16, 0x1p-7, 0x1p-7},
      {"none, integers", golden, DType::kInt32, DType::kInt32, 0, 0},
      {"complex", golden, DType::kComplex64, DType::kComplex64, 0x1p-23, 0x1p-23},
      {"hardly the same", {-1, 2, 3, 9}, DType::kFloat32, DType::kFloat32, 0.5, 0.5},
  };
  for (const Case& c : cases) {
    PairFacts pair = facts_of(golden, golden);
    pair.target_dtype = c.target;
    pair.golden_dtype = c.golden_type;
    const Limits floor = *floor_limits(pair, facts_of(c.second, golden));
    ASSERT_EQ(floor.limits.size(), 2) << c.name;
    EXPECT_EQ(floor.limits[0].metric->name, "rel_euclid");
    EXPECT_DOUBLE_EQ(floor.limits[0].bound, c.rel_euclid) << c.name;
    EXPECT_EQ(floor.limits[1].metric->name, "max_err_to_range");
    EXPECT_DOUBLE_EQ(floor.limits[1].bound, c.max_err_to_range) << c.name;
    EXPECT_THAT(floor.warnings, IsEmpty());
    EXPECT_FALSE(floor.same_bytes);
  }
  // Nothing to take the noise from.
  EXPECT_FALSE(floor_limits(facts_of({1}, {1}), facts_of({1}, {0})));
  // A NaN is no noise.
  const PairFacts with_nan = facts_of({1, -2, 3, kNan}, golden);
  const Row row = judged(*floor_limits(with_nan, facts_of(golden, golden)), with_nan);
  EXPECT_EQ(row.verdict, Verdict::kFail);
  EXPECT_THAT(row.reasons, ElementsAre("nan_only_in_target"));
}

Statistics statistics(double min, double max, double mean, double l2) {
  Statistics s;
  s.min = min;
  s.max = max;
  s.mean = mean;
  s.l2 = l2;
  return s;
}
Statistics checksum(const char* hex) {
  Statistics s;
  s.checksum = hex;
  return s;
}
Statistics text(const char* value) {
  Statistics s;
  s.text = value;
  return s;
}
Statistics with_counts(Statistics s, int64_t nan, int64_t inf) {
  s.nan_count = nan;
  s.inf_count = inf;
  return s;
}
Statistics with_checksum(Statistics s, const char* hex) {
  s.checksum = hex;
  return s;
}

TEST(JudgeRecorded, Cases) {
  using enum Verdict;
  const Limits standard = limits_of("cosine = '>= 0.999', norm_ratio = 'within 0.02'");
  const Limits to_range = limits_of("cosine = '>= 0.999', max_err_to_range = '<= 0.05'");
  Limits exact = limits_of("equal_share = '>= 1'");
  exact.same_bytes = true;
  const std::optional<Shape> shape = Shape{2, 3}, none;
  struct Side {
    Statistics statistics;
    std::optional<Shape> shape;
    const char* dtype = "torch.float16";
  };
  struct Case {
    const char* name;
    Limits limits;
    Side target, golden;
    Verdict verdict;
    std::vector<std::string> reasons;
    const char* message;
  };
  const auto plain = statistics(-1, 2, 0.5, 4);
  const char* const kAgree = "the recorded statistics agree, which does not prove that the data do";
  const Case cases[] = {
      {"equal statistics prove nothing",
       standard,
       {plain, shape},
       {plain, shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"small difference",
       standard,
       {statistics(-1, 2, 0.51, 4.04), shape},
       {plain, shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 0.02 (mean)"},
      {"from zero",
       standard,
       {statistics(0, 1, 0.1, 4), shape},
       {statistics(0, 1, 0, 4), shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is inf (mean)"},
      {"shapes",
       standard,
       {plain, Shape{2, 3}},
       {plain, Shape{3, 2}},
       kFail,
       {"shape_mismatch"},
       "[2, 3] in target, [3, 2] in golden"},
      {"axes of length 1",
       standard,
       {plain, Shape{1, 2, 3}},
       {plain, Shape{2, 3}},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"NaN in target",
       standard,
       {statistics(-1, 2, kNan, kNan), shape},
       {plain, shape},
       kFail,
       {"nan_only_in_target"},
       "mean is nan in target, 0.5 in golden"},
      {"NaN in golden",
       standard,
       {plain, shape},
       {statistics(-1, kNan, 0.5, 4), shape},
       kFail,
       {"nan_only_in_golden"},
       "max is 2 in target, nan in golden"},
      {"NaN on both sides",
       standard,
       {statistics(kNan, kNan, kNan, kNan), shape},
       {statistics(kNan, kNan, kNan, kNan), shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"infinity",
       standard,
       {statistics(-1, kInf, kInf, kInf), shape},
       {plain, shape},
       kFail,
       {"inf_mismatch"},
       "max is inf in target, 2 in golden"},
      {"other infinity",
       standard,
       {statistics(-1, kInf, kInf, kInf), shape},
       {statistics(-1, -kInf, kInf, kInf), shape},
       kFail,
       {"inf_mismatch"},
       "max is inf in target, -inf in golden"},
      {"counted NaN",
       standard,
       {with_counts(plain, 3, 0), shape},
       {with_counts(plain, 0, 0), shape},
       kFail,
       {"nan_only_in_target"},
       "3 NaN in target, 0 in golden"},
      {"counted in golden",
       standard,
       {with_counts(plain, 0, 1), shape},
       {with_counts(plain, 2, 0), shape},
       kFail,
       {"nan_only_in_golden", "inf_mismatch"},
       "0 NaN in target, 2 in golden; 1 infinities in target, 0 in golden"},
      {"norms",
       standard,
       {statistics(-1, 2, 0.5, 4.4), shape},
       {plain, shape},
       kFail,
       {"limit:norm_ratio"},
       "norm_ratio 1.1 is not within 0.02 of 1"},
      {"norms without a limit",
       limits_of("cosine = '>= 0.9'"),
       {statistics(-1, 2, 0.5, 8), shape},
       {plain, shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 1 (l2)"},
      {"target all zero",
       standard,
       {statistics(0, 0, 0, 0), shape},
       {plain, shape},
       kFail,
       {"all_zero_target", "limit:norm_ratio"},
       "target is all zeros; norm_ratio 0 is not within 0.02 of 1; max is 0 in target, 2 in "
       "golden"},
      {"golden all zero",
       standard,
       {plain, shape},
       {statistics(0, 0, 0, 0), shape},
       kFail,
       {"all_zero_golden", "limit:norm_ratio"},
       "golden is all zeros; norm_ratio inf is not within 0.02 of 1; max is 2 in target, 0 in "
       "golden"},
      {"extremes a hundred times as large",  // 198 over a range of 3
       to_range,
       {statistics(-100, 200, 0.5, 4), shape},
       {plain, shape},
       kFail,
       {"limit:max_err_to_range"},
       "max_err_to_range is at least 66, which is above 0.05; max is 200 in target, 2 in golden"},
      {"extremes within limits",
       to_range,
       {statistics(-1.1, 2, 0.5, 4), shape},
       {plain, shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 0.1 (min)"},
      {"extremes of one value",
       to_range,
       {statistics(2, 5, 2, 4), shape},
       {statistics(2, 2, 2, 4), shape},
       kFail,
       {"limit:max_err_to_range"},
       "max_err_to_range is at least 1.5, which is above 0.05; max is 5 in target, 2 in golden"},
      {"rounding of a narrow type is much of a narrow range",  // bfloat16 has steps of 0.5 there
       to_range,
       {statistics(100, 101.2, 100, 200), shape, "torch.float32"},
       {statistics(100, 101, 100, 200), shape, "torch.float32"},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 0.00198 (max)"},
      {"integers are not rounded",
       to_range,
       {statistics(100, 111, 100, 200), shape, "int16"},
       {statistics(100, 110, 100, 200), shape, "int16"},
       kFail,
       {"limit:max_err_to_range"},
       "max_err_to_range is at least 0.1, which is above 0.05; max is 111 in target, 110 in "
       "golden"},
      {"golden extremes zero",
       limits_of("max_rel = '< 0.01'"),
       {statistics(0, 5, 0, 0), shape},
       {statistics(0, 0, 0, 0), shape},
       kFail,
       {"limit:max_rel"},
       "max_rel inf is not below 0.01; max is 5 in target, 0 in golden"},
      {"relative to the largest",
       limits_of("max_rel = '< 0.01', max_abs = '<= 0.5'"),
       {statistics(-1.5, 2, 0.5, 4), shape},
       {plain, shape},
       kFail,
       {"limit:max_rel"},
       "max_rel is at least 0.25, which is not below 0.01; min is -1.5 in target, -1 in golden"},
      {"float32 has no more digits than these",
       limits_of("max_abs = '<= 0.1'"),
       {statistics(0, 1e6 + 0.5, 5, 4), shape},
       {statistics(0, 1e6, 5, 4), shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 5e-07 (max)"},
      {"lengths prove a distance",  // 4.4 / 4 - 1 = 0.1, which is -20 dB
       limits_of("rel_euclid = '<= 0.03', sqnr_db = '>= 30'"),
       {statistics(-1, 2, 0.5, 4.4), shape},
       {plain, shape},
       kFail,
       {"limit:rel_euclid", "limit:sqnr_db"},
       "rel_euclid is at least 0.1, which is above 0.03; sqnr_db is at most 20, which is below "
       "30"},
      {"indices that differ",
       limits_of("equal_share = '>= 1'"),
       {statistics(0, 6, 3, 8), shape, "int64"},
       {statistics(0, 5, 3, 8), shape, "int64"},
       kFail,
       {"limit:equal_share"},
       "equal_share is at most 0.833, which is below 1; max is 6 in target, 5 in golden"},
      {"extremes of bool tensors differ",
       limits_of("equal_share = '>= 1'"),
       {text("max=True, min=True"), shape, "torch.bool"},
       {text("max=True, min=False"), shape, "torch.bool"},
       kFail,
       {"limit:equal_share"},
       "equal_share is at most 0.833, which is below 1"},
      {"extremes of bool tensors agree",
       limits_of("equal_share = '>= 1'"),
       {text("max=True, min=False"), shape, "torch.bool"},
       {text("max=True, min=False"), shape, "torch.bool"},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"NaN everywhere leaves no bound",
       to_range,
       {with_counts(statistics(kNan, kNan, kNan, kNan), 2, 0), shape},
       {with_counts(statistics(kNan, kNan, kNan, kNan), 2, 0), shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"one value",
       standard,
       {statistics(2, 2, 2, 4), shape},
       {statistics(2, 2, 2, 4), shape},
       kPass,
       {"statistics_only"},
       "all elements are 2 on both sides"},
      {"one value by its extremes, another by its mean",
       standard,
       {statistics(2, 2, 1.5, 4), shape},
       {statistics(2, 2, 2, 4), shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 0.25 (mean)"},
      {"one value each",
       standard,
       {statistics(2, 2, 2, 4), shape},
       {statistics(2.01, 2.01, 2.01, 4.02), shape},
       kInconclusive,
       {"statistics_only"},
       "largest relative difference of the recorded statistics is 0.00498 (min)"},
      {"one value, unknown shape",
       standard,
       {statistics(2, 2, 2, 4), none},
       {statistics(2, 2, 2, 4), shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"one value and NaN",
       standard,
       {with_counts(statistics(2, 2, 2, 4), 1, 0), shape},
       {with_counts(statistics(2, 2, 2, 4), 1, 0), shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"one value, exact",
       exact,
       {statistics(0, 0, 0, 0), shape},
       {statistics(0, 0, 0, 0), shape},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"checksums agree",
       standard,
       {checksum("1a2b3c4d"), shape},
       {checksum("1a2b3c4d"), shape},
       kPass,
       {"checksum_only"},
       "the checksums agree; there are no data to compare"},
      {"the tools' words for a type",
       standard,
       {checksum("1a2b3c4d"), shape, "torch.float16"},
       {checksum("1a2b3c4d"), shape, "Float16"},
       kPass,
       {"checksum_only"},
       "the checksums agree; there are no data to compare"},
      {"checksums agree, types do not",
       standard,
       {checksum("1a2b3c4d"), shape, "float16"},
       {checksum("1a2b3c4d"), shape, "bfloat16"},
       kInconclusive,
       {"checksum_only"},
       "the checksums agree, but types or shapes are not known to"},
      {"checksums agree, unknown shape",
       standard,
       {checksum("1a2b3c4d"), none},
       {checksum("1a2b3c4d"), shape},
       kInconclusive,
       {"checksum_only"},
       "the checksums agree, but types or shapes are not known to"},
      {"checksums agree, other type, exact",
       exact,
       {checksum("1a2b3c4d"), shape, "float16"},
       {checksum("1a2b3c4d"), shape, "bfloat16"},
       kFail,
       {"limit:equal_share"},
       "target is float16, golden bfloat16"},
      {"checksums differ",
       standard,
       {checksum("1a2b3c4d"), shape},
       {checksum("1a2b3c4e"), shape},
       kInconclusive,
       {"checksum_only"},
       "the checksums differ, which does not say by how much"},
      {"checksums differ, exact",
       exact,
       {checksum("1a2b3c4d"), shape},
       {checksum("1a2b3c4e"), shape},
       kFail,
       {"limit:equal_share"},
       "the checksums differ: 1a2b3c4d of target, 1a2b3c4e of golden"},
      {"checksums of two kinds",
       exact,
       {checksum("1a2b3c4d"), shape},
       {checksum("d41d8cd98f00b204e9800998ecf8427e"), shape},
       kInconclusive,
       {"statistics_only"},
       "nothing was recorded on both sides that could be compared"},
      {"checksums agree, statistics too",
       standard,
       {with_checksum(plain, "1a2b3c4d"), shape},
       {with_checksum(plain, "1a2b3c4d"), shape},
       kPass,
       {"checksum_only"},
       "the checksums agree; there are no data to compare"},
      {"checksums differ, statistics fail",
       standard,
       {with_checksum(statistics(-1, 2, 0.5, 8), "1a2b3c4d"), shape},
       {with_checksum(plain, "00000000"), shape},
       kFail,
       {"limit:norm_ratio"},
       "norm_ratio 2 is not within 0.02 of 1"},
      {"one value, but checksums differ",
       standard,
       {with_checksum(statistics(0, 0, 0, 0), "1a2b3c4d"), shape},
       {with_checksum(statistics(0, 0, 0, 0), "00000000"), shape},
       kInconclusive,
       {"statistics_only"},
       "the data differ, as their checksums do, but no recorded statistic does"},
      {"checksums and statistics differ within limits",
       standard,
       {with_checksum(statistics(-1, 2, 0.51, 4), "1a2b3c4d"), shape},
       {with_checksum(plain, "00000000"), shape},
       kInconclusive,
       {"statistics_only"},
       "the data differ, as their checksums do; largest relative difference of the recorded "
       "statistics is 0.02 (mean)"},
      {"checksums of two types",
       standard,
       {with_checksum(plain, "1a2b3c4d"), shape, "float32"},
       {with_checksum(plain, "00000000"), shape, "float16"},
       kInconclusive,
       {"statistics_only"},
       kAgree},
      {"empty",
       standard,
       {{}, Shape{0, 3}},
       {{}, Shape{0, 3}},
       kPass,
       {"empty"},
       "both tensors are empty"},
      {"nothing recorded",
       standard,
       {{}, shape},
       {plain, shape},
       kInconclusive,
       {"statistics_only"},
       "nothing was recorded on both sides that could be compared"},
      {"equal texts",
       standard,
       {text("True"), none, "bool"},
       {text("True"), none, "bool"},
       kPass,
       {},
       ""},
      {"different texts",
       standard,
       {text("1"), none, "int"},
       {text("2"), none, "int"},
       kFail,
       {"limit:equal_share"},
       "the recorded values differ: 1 in target, 2 in golden"},
      {"text against tensor",
       standard,
       {text("None"), none, "NoneType"},
       {plain, shape},
       kFail,
       {"limit:equal_share"},
       "the recorded values differ: None in target, nothing in golden"},
      {"texts cut short",
       standard,
       {text("[1, 2..."), none},
       {text("[1, 2..."), none},
       kInconclusive,
       {"statistics_only"},
       "the recorded values agree as far as they were kept"},
  };
  const auto known = [](const Side& side) {
    Statistics s = side.statistics;
    s.dtype = side.dtype;
    s.shape = side.shape;
    return s;
  };
  for (const Case& c : cases) {
    Row row;
    judge_recorded(c.limits, known(c.target), known(c.golden), row);
    EXPECT_EQ(row.verdict, c.verdict) << c.name;
    EXPECT_EQ(row.reasons, c.reasons) << c.name;
    EXPECT_EQ(row.message, c.message) << c.name;
    EXPECT_EQ(row.hint, "") << c.name;
    EXPECT_FALSE(row.suspicious) << c.name;
    EXPECT_THAT(row.values, IsEmpty()) << c.name;  // no number is made up
  }
}

}  // namespace
}  // namespace plumb::judge
