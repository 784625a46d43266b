// SPDX-License-Identifier: Apache-2.0
#include "judge/profile.h"

#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const std::vector<Limit>& limits) {
  std::vector<std::string> all;
  for (const Limit& limit : limits) all.push_back(to_string(limit));
  return all;
}

std::vector<std::string> metric_names(const std::vector<const metrics::Metric*>& metrics) {
  std::vector<std::string> all;
  for (const metrics::Metric* metric : metrics) all.emplace_back(metric->name);
  return all;
}

// The limits of each profile, as the project's design decided them.
TEST(Profile, BuiltInLimits) {
  struct Case {
    const char* name;
    std::vector<std::string> limits, warnings;
  };
  const Case cases[] = {
      {"standard",
       {"cosine >= 0.999", "rel_euclid <= 0.03", "max_err_to_range <= 0.05",
        "norm_ratio within 0.02", "bulk_rel_euclid <= 0.1", "off_share <= 0.2",
        "slice_rel_euclid < 0.9"},
       {"slice_rel_euclid <= 0.05"}},
      {"offline",
       {"cosine > 0.99", "rel_euclid < 0.05", "kl < 0.005", "rmse < 1", "mean_rel < 1",
        "slice_rel_euclid < 0.9"},
       {"slice_rel_euclid <= 0.05"}},
      {"torchair", {"cosine >= 0.99", "max_rel < 0.01"}, {}},
      {"axera",
       {"cosine >= 0.98"},
       {"pearson >= 0.98", "sqnr_db >= 20", "slice_rel_euclid <= 0.1"}},
      {"quantized",
       {"cosine >= 0.98", "sqnr_db >= 20", "pearson >= 0.98"},
       {"slice_rel_euclid <= 0.1"}},
      {"conformance",
       {"cosine >= 0.99999", "rel_euclid <= 0.001", "max_err_to_range <= 0.002",
        "norm_ratio within 0.001", "bulk_rel_euclid <= 0.1", "off_share <= 0.2",
        "slice_rel_euclid < 0.9"},
       {"slice_rel_euclid <= 0.05"}},
      {"exact", {"equal_share >= 1"}, {}},
  };
  EXPECT_EQ(std::size(cases), built_in_profiles().size());
  for (const Case& c : cases) {
    auto profile = load_profile(c.name);
    ASSERT_TRUE(profile) << c.name << ": " << profile.error().what << ", " << profile.error().where;
    EXPECT_EQ(profile->name, c.name);
    EXPECT_FALSE(profile->summary.empty()) << c.name;
    EXPECT_FALSE(profile->origin.empty()) << c.name;
    EXPECT_EQ(texts(profile->any.limits), c.limits) << c.name;
    EXPECT_EQ(texts(profile->any.warnings), c.warnings) << c.name;
    const std::vector<std::string> lost{"slice_rel_euclid < 0.9"}, none;
    const bool is_quantized =
        c.name == std::string_view("axera") || c.name == std::string_view("quantized");
    EXPECT_EQ(texts(profile->output), is_quantized ? lost : none) << c.name;
    EXPECT_EQ(profile->any.same_bytes, std::string_view(c.name) == "exact");
    for (const auto* own : {&profile->float32, &profile->float16, &profile->bfloat16})
      EXPECT_EQ(own->has_value(), std::string_view(c.name) == "standard");
    const std::string_view name = c.name;
    EXPECT_EQ(profile->integer.has_value(),
              name != "exact" && name != "axera" && name != "quantized");
  }
  auto standard = load_profile("standard");
  EXPECT_THAT(texts(standard->float32->limits),
              ElementsAre("cosine >= 0.99999", "rel_euclid <= 0.001", "max_err_to_range <= 0.005",
                          "norm_ratio within 0.001", "bulk_rel_euclid <= 0.1", "off_share <= 0.2",
                          "slice_rel_euclid < 0.3"));
  EXPECT_THAT(texts(standard->integer->limits), ElementsAre("equal_share >= 1"));
  // Each type is judged more strictly than the next coarser one.
  const std::vector<Limit>*wide = &standard->float32->limits, *half = &standard->float16->limits,
        *brain = &standard->bfloat16->limits;
  ASSERT_EQ(half->size(), wide->size());
  ASSERT_EQ(brain->size(), wide->size());
  for (size_t i = 0; i < wide->size(); ++i) {
    const bool rises = (*wide)[i].comparison == Comparison::kAtLeast;
    EXPECT_EQ((*wide)[i].metric, (*half)[i].metric);
    EXPECT_EQ((*wide)[i].metric, (*brain)[i].metric);
    EXPECT_TRUE(rises ? (*wide)[i].bound >= (*half)[i].bound
                      : (*wide)[i].bound <= (*half)[i].bound);
    EXPECT_TRUE(rises ? (*half)[i].bound >= (*brain)[i].bound
                      : (*half)[i].bound <= (*brain)[i].bound);
  }
}

TEST(Profile, LimitsByType) {
  auto profile = load_profile("standard");
  ASSERT_TRUE(profile);
  enum Set { kAny, kWide, kIndex, kOfHalf, kOfBrain };
  enum Shows { kItself, kHalf, kBrain, kZeros, kWhole };
  struct Case {
    const char* name;
    DType target;
    Shows target_shows;
    DType golden;
    Shows golden_shows;
    Set set;
  };
  using enum DType;
  const Case cases[] = {
      {"float32", kFloat32, kItself, kFloat32, kItself, kWide},
      {"float64", kFloat64, kItself, kFloat32, kItself, kWide},
      {"complex", kComplex64, kItself, kComplex64, kItself, kWide},
      {"complex of halves", kComplex64, kHalf, kComplex64, kItself, kOfHalf},
      {"widened float16", kFloat32, kHalf, kFloat32, kItself, kOfHalf},
      {"widened bfloat16", kFloat32, kItself, kFloat32, kBrain, kOfBrain},
      {"widened to float64", kFloat64, kHalf, kFloat64, kItself, kOfHalf},
      {"zeros show nothing", kFloat32, kZeros, kFloat32, kItself, kWide},
      {"float16", kFloat16, kHalf, kFloat32, kItself, kOfHalf},
      {"float16 of golden", kFloat32, kItself, kFloat16, kHalf, kOfHalf},
      {"bfloat16", kBFloat16, kBrain, kBFloat16, kItself, kOfBrain},
      {"bfloat16 against float16", kBFloat16, kBrain, kFloat16, kHalf, kOfBrain},
      {"float8", kFloat8E4M3Fn, kItself, kFloat16, kHalf, kAny},
      {"int64", kInt64, kItself, kInt32, kItself, kIndex},
      {"int64 that fits a half", kInt64, kHalf, kUint32, kHalf, kIndex},
      {"bool", kBool, kItself, kBool, kItself, kIndex},
      {"bool against integer", kBool, kItself, kInt32, kItself, kIndex},
      {"uint8", kUint8, kItself, kUint8, kItself, kIndex},
      {"int32 against float32", kInt32, kItself, kFloat32, kItself, kIndex},
      {"ids in float32", kFloat32, kWhole, kFloat32, kWhole, kIndex},
      {"ids in float16", kFloat16, kWhole, kFloat32, kWhole, kIndex},
      {"whole on one side", kFloat32, kWhole, kFloat32, kItself, kWide},
  };
  for (const Case& c : cases) {
    metrics::PairFacts facts;
    facts.target_dtype = c.target;
    facts.golden_dtype = c.golden;
    facts.sums.count = facts.sums.finite = 4;
    facts.sums.t_zeros = c.target_shows == kZeros ? 4 : 0;
    facts.sums.g_zeros = c.golden_shows == kZeros ? 4 : 0;
    facts.sums.t_fits_half = c.target_shows == kHalf || c.target_shows == kZeros;
    facts.sums.g_fits_half = c.golden_shows == kHalf || c.golden_shows == kZeros;
    facts.sums.t_whole = c.target_shows == kWhole;
    facts.sums.g_whole = c.golden_shows == kWhole;
    facts.sums.t_max = facts.sums.g_max = 9;
    facts.sums.t_fits_bfloat16 = c.target_shows == kBrain;
    facts.sums.g_fits_bfloat16 = c.golden_shows == kBrain;
    const Limits* const sets[] = {&profile->any, &*profile->float32, &*profile->integer,
                                  &*profile->float16, &*profile->bfloat16};
    EXPECT_EQ(&profile->for_pair(facts), sets[c.set]) << c.name;
    facts.are_ids = true;  // the graph knows
    EXPECT_EQ(&profile->for_pair(facts), &*profile->integer) << c.name;
  }
}

// What float16 holds from 1024 on is whole whether it was meant so or not.
TEST(Profile, LargeNumbersOnlyHappenToBeWhole) {
  auto profile = load_profile("standard");
  ASSERT_TRUE(profile);
  struct Case {
    DType dtype;
    double max;
    bool are_ids;
  };
  using enum DType;
  const Case cases[] = {{kFloat32, 50000, true}, {kFloat32, 0x1p23, false}, {kFloat16, 1023, true},
                        {kFloat16, 1024, false}, {kBFloat16, 127, true},    {kBFloat16, 128, false},
                        {kFloat64, 0x1p40, true}};
  for (const Case& c : cases) {
    metrics::PairFacts facts;
    facts.target_dtype = facts.golden_dtype = c.dtype;
    facts.sums.count = facts.sums.finite = 4;
    facts.sums.t_max = facts.sums.g_max = c.max;
    EXPECT_EQ(&profile->for_pair(facts) == &*profile->integer, c.are_ids)
        << name_of(c.dtype) << " " << c.max;
  }
}

// Integers that are read as the numbers they stand for have their own steps, of which one is no
// error that float32 could be blamed for.
TEST(Profile, DequantizedIntegersAreNotJudgedAsFloat32) {
  const auto profile = load_profile("standard");
  ASSERT_TRUE(profile.ok());
  metrics::PairFacts facts;
  EXPECT_EQ(&profile->for_pair(facts), &*profile->float32);
  facts.target_stored = DType::kInt8;
  EXPECT_EQ(&profile->for_pair(facts), &profile->any);
}

// What the user says of the target's arithmetic counts, what values happen to show does not.
TEST(Profile, LimitsByWhatTheTargetComputesIn) {
  const auto profile = load_profile("standard");
  ASSERT_TRUE(profile.ok());
  struct Case {
    DType target, golden, computed;
    const Limits* limits;
  };
  using enum DType;
  const Case cases[] = {
      {kFloat32, kFloat32, kFloat16, &*profile->float16},
      {kFloat32, kFloat32, kBFloat16, &*profile->bfloat16},
      {kFloat16, kFloat32, kBFloat16, &*profile->bfloat16},
      {kBFloat16, kFloat32, kFloat16, &*profile->bfloat16},
      {kInt64, kInt64, kBFloat16, &*profile->integer},
      {kFloat8E5M2, kFloat32, kFloat16, &profile->any},
  };
  for (const Case& c : cases) {
    metrics::PairFacts facts;
    facts.target_dtype = c.target;
    facts.golden_dtype = c.golden;
    facts.sums.count = facts.sums.finite = 4;
    facts.sums.t_fits_half = facts.sums.t_fits_bfloat16 = true;
    facts.sums.t_whole = facts.sums.g_whole = false;
    EXPECT_EQ(&profile->for_pair(facts, c.computed), c.limits)
        << name_of(c.target) << " " << name_of(c.computed);
  }
}

TEST(Profile, LimitsHold) {
  const metrics::Metric* metric = metrics::metric_by_name("cosine");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    Comparison comparison;
    double bound, value;
    bool holds;
  };
  const Case cases[] = {
      {Comparison::kAtLeast, 0.5, 0.5, true},   {Comparison::kAtLeast, 0.5, 0.499, false},
      {Comparison::kAbove, 0.5, 0.5, false},    {Comparison::kAbove, 0.5, 0.501, true},
      {Comparison::kAtMost, 0.5, 0.5, true},    {Comparison::kAtMost, 0.5, 0.501, false},
      {Comparison::kBelow, 0.5, 0.5, false},    {Comparison::kBelow, 0.5, 0.499, true},
      {Comparison::kWithin, 0.25, 1.25, true},  {Comparison::kWithin, 0.25, 0.75, true},
      {Comparison::kWithin, 0.25, 1.26, false}, {Comparison::kWithin, 0.25, 0.74, false},
      {Comparison::kAtLeast, -1, nan, false},   {Comparison::kAbove, -1, nan, false},
      {Comparison::kAtMost, 1e300, nan, false}, {Comparison::kBelow, 1e300, nan, false},
      {Comparison::kWithin, 1e300, nan, false},
  };
  for (const Case& c : cases) {
    const Limit limit{metric, c.comparison, c.bound};
    EXPECT_EQ(limit.holds(c.value), c.holds) << to_string(limit) << " with " << c.value;
  }
}

TEST(Profile, WarningsAndSameBytesReachEverySet) {
  auto profile = parse_profile(
      "same_bytes = true\n[limits]\ncosine = \">0.5\"\n[limits.float32]\ncosine = '>= .9'\n"
      "[limits.integer]\nequal_share = \">= 1\"\n[warnings]\nmax_abs = \"<1e-3\"\n",
      "mine");
  ASSERT_TRUE(profile) << profile.error().what << ", " << profile.error().where;
  for (const Limits* set : {&profile->any, &*profile->float32, &*profile->integer}) {
    EXPECT_TRUE(set->same_bytes);
    EXPECT_THAT(texts(set->warnings), ElementsAre("max_abs < 0.001"));
  }
  EXPECT_THAT(texts(profile->float32->limits), ElementsAre("cosine >= 0.9"));
}

TEST(Profile, WarningsByType) {
  auto profile = parse_profile(
      "[limits]\ncosine = '>= 0.9'\n[limits.float32]\ncosine = '>= 0.99'\n[limits.float16]\n"
      "cosine = '>= 0.95'\n[warnings]\nsqnr_db = '>= 20'\n[warnings.float32]\nsqnr_db = '>= 60'\n",
      "mine");
  ASSERT_TRUE(profile) << profile.error().what;
  EXPECT_THAT(texts(profile->any.warnings), ElementsAre("sqnr_db >= 20"));
  EXPECT_THAT(texts(profile->float16->warnings), ElementsAre("sqnr_db >= 20"));
  EXPECT_THAT(texts(profile->float32->warnings), ElementsAre("sqnr_db >= 60"));
  auto standard = load_profile("standard");
  EXPECT_THAT(texts(standard->float32->warnings), ElementsAre("slice_rel_euclid <= 0.01"));
}

TEST(Profile, Complaints) {
  struct Case {
    const char* name;
    std::string text;
    const char* what;
    const char* where;
    const char* remedy;
  };
  const Case cases[] = {
      {"empty file", "", "profile has no limits", "line 1, column 1", "add [limits]"},
      {"no limits", "summary = \"x\"\n[warnings]\ncosine = \">= 1\"", "profile has no limits",
       "line 1, column 1", "add [limits]"},
      {"empty limits", "\n[limits]\n", "'limits' has no limits", "line 2, column 2",
       "would pass everything"},
      {"only a class", "[limits.float32]\ncosine = \">= 1\"", "'limits' has no limits",
       "line 1, column 2", "would pass everything"},
      {"empty class", "[limits]\ncosine = \">= 1\"\n[limits.integer]\n", "'integer' has no limits",
       "line 3, column 9", "would pass everything"},
      {"unknown class", "[limits]\ncosine = \">= 1\"\n[limits.flaot32]\ncosine = \">= 1\"",
       "unknown key 'flaot32'", "line 3, column 9", "did you mean 'float32'?"},
      {"class of a class", "[limits.float32.integer]\ncosine = \">= 1\"",
       "unknown metric 'integer'", "line 1, column 17", "`plumb metrics`"},
      {"limits no table", "limits = 3", "'limits' is not a table", "line 1, column 10",
       "write [limits]"},
      {"unknown metric", "[limits]\ncosin = \">= 1\"", "unknown metric 'cosin'", "line 2, column 1",
       "did you mean 'cosine'? `plumb metrics` lists all of them"},
      {"unknown warning", "[limits]\ncosine = \">= 1\"\n[warnings]\nsqnr = \">= 20\"",
       "unknown metric 'sqnr'", "line 4, column 1", "`plumb metrics`"},
      {"warnings of no class",
       "[limits]\ncosine = \">= 1\"\n[warnings]\ncosine = \">= 1\"\n[warnings.float32]\ncosine = "
       "\">= 1\"",
       "warnings for float32, but no limits", "line 5, column 11", "write [limits.float32]"},
      {"unknown comparison", "[limits]\ncosine = \">> 0.9\"",
       "unknown comparison '>>' in the limit of 'cosine'", "line 2, column 10",
       "did you mean '>='? known are >=, >, <=, <, within"},
      {"swapped comparison", "[limits]\ncosine = \"=> 0.9\"", "unknown comparison '=>'",
       "line 2, column 10", "did you mean '>='?"},
      {"word", "[limits]\nnorm_ratio = \"wihtin 0.9\"", "unknown comparison 'wihtin'",
       "line 2, column 14", "did you mean 'within'?"},
      {"no comparison", "[limits]\ncosine = \"0.9\"", "unknown comparison ''", "line 2, column 10",
       "known are >=, >, <=, <, within"},
      {"bare number", "[limits]\ncosine = 0.9", "limit of 'cosine' is not a text",
       "line 2, column 10", "in quotes"},
      {"no number", "[limits]\ncosine = \">=\"",
       "'' in the limit of 'cosine' is not a finite number", "line 2, column 10", "\">= 0.01\""},
      {"not a number", "[limits]\ncosine = \">= high\"", "'high' in the limit of 'cosine'",
       "line 2, column 10", "\">= 0.01\""},
      {"trailing", "[limits]\nrmse = \"< 1 dB\"", "'1 dB' in the limit of 'rmse'",
       "line 2, column 8", "\"< 0.01\""},
      {"NaN", "[limits]\ncosine = \">= nan\"", "'nan' in the limit of 'cosine'",
       "line 2, column 10", ""},
      {"infinite", "[limits]\nrmse = \"<= inf\"", "'inf' in the limit of 'rmse'",
       "line 2, column 8", ""},
      {"overflow", "[limits]\nrmse = \"<= 1e999\"", "'1e999' in the limit of 'rmse'",
       "line 2, column 8", ""},
      {"wrong side", "[limits]\ncosine = \"<= 0.9\"", "limit 'cosine <= 0.9' makes no sense",
       "line 2, column 10", "good when it is high"},
      {"wrong side, error", "[limits]\nrmse = \"> 0.1\"", "limit 'rmse > 0.1' makes no sense",
       "line 2, column 8", "good when it is low"},
      {"within of an error", "[limits]\nrmse = \"within 0.1\"",
       "limit 'rmse within 0.1' makes no sense", "line 2, column 8", "distance from 1"},
      {"negative distance", "[limits]\nnorm_ratio = \"within -0.1\"",
       "limit 'norm_ratio within -0.1' makes no sense", "line 2, column 14", "not negative"},
      {"unknown key", "sumary = \"x\"\n[limits]\ncosine = \">= 1\"", "unknown key 'sumary'",
       "line 1, column 1", "did you mean 'summary'? known here: summary, origin"},
      {"summary no text", "summary = 3\n[limits]\ncosine = \">= 1\"", "'summary' is not a text",
       "line 1, column 11", "in quotes"},
      {"same_bytes no flag", "same_bytes = 1\n[limits]\ncosine = \">= 1\"",
       "'same_bytes' is not true or false", "line 1, column 14", "same_bytes = true"},
      {"a rule file", "[[rule]]\nop = \"*\"", "this is a rule file, not a profile",
       "line 1, column 3", "--rules"},
      {"not TOML", "[limits]\ncosine >= 0.9", "file is not TOML",
       "line 2, column 8: ", "in quotes"},
      {"bytes", std::string("\x93NUMPY\x01\x00", 8), "a letter is not ASCII", "line 1", "escape"},
      {"a letter in a key", "limits = 1 # fine: \u00e9\n\u00e9 = 2", "a letter is not ASCII",
       "line 2", ""},
      {"three brackets", "[[[limits]]]", "file is not TOML", "line 1, column 3: ", ""},
      {"twice", "[limits]\nrmse = \"< 1\"\nrmse = \"< 2\"", "file is not TOML", "line 3", ""},
      {"many dots", "a" + std::string(101, '.'), "too many dots in a line",
       "line 1: 101 dots, 100 are allowed", ""},
      {"too long", std::string((1 << 18) + 1, '\n'), "file is too long",
       "262145 bytes, 262144 are allowed", "file you meant"},
  };
  for (const Case& c : cases) {
    auto profile = parse_profile(c.text, "mine");
    ASSERT_FALSE(profile) << c.name;
    EXPECT_THAT(profile.error().what, HasSubstr(c.what)) << c.name;
    EXPECT_THAT(profile.error().where, HasSubstr(c.where)) << c.name;
    EXPECT_THAT(profile.error().remedy, HasSubstr(c.remedy)) << c.name;
  }
}

// Nested as deep as the checks let it: neither reading nor taking apart may exhaust the stack.
TEST(Profile, DeepTables) {
  std::string text = "x = " + std::string(200'000, '[');
  EXPECT_FALSE(parse_profile(text, "mine"));
  std::string key = "a";
  for (int i = 0; i < 100; ++i) key += ".a";
  text = key + " = [\n";
  for (int i = 0; i < 3; ++i) text += "{" + key + " = [\n";
  for (int i = 0; i < 3; ++i) text += "]}";
  EXPECT_FALSE(parse_profile(text + "]\n", "mine"));
}

constexpr const char* kRules = R"(
[[rule]]
op = "conv*"
slot = "output"
limits = { cosine = ">= 0.99", rmse = "< 1" }

[[rule]]
op = "model/ids"
[rule.limits]
equal_share = ">= 1"
[rule.limits.float32]
max_abs = "<= 0.5"
[rule.warnings]
sqnr_db = ">= 20"

[[rule]]
op = "fc?"
profile = "quantized"

[[rule]]
op = "*"
profile = "offline"
)";

TEST(LimitRules, FirstMatchDecides) {
  auto parsed = parse_rules(kRules, "");
  ASSERT_TRUE(parsed) << parsed.error().what << ", " << parsed.error().where;
  const LimitRules rules{"mine", std::move(*parsed)};
  struct Case {
    const char *op, *slot, *profile;
  };
  const Case cases[] = {
      {"conv1", "output:0", "conv* output"}, {"conv1", "output:3", "conv* output"},
      {"conv1", "input:0", "offline"},       {"model/ids", "input:0", "model/ids"},
      {"model_ids", "input:0", "offline"},   {"fc1", "output:0", "quantized"},
      {"fc12", "output:0", "offline"},       {"", "", "offline"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(rules.for_tensor(c.op, c.slot).name, c.profile) << c.op << " " << c.slot;

  const Profile& own = rules.for_tensor("model/ids", "output:0");
  EXPECT_THAT(texts(own.any.limits), ElementsAre("equal_share >= 1"));
  EXPECT_THAT(texts(own.any.warnings), ElementsAre("sqnr_db >= 20"));
  EXPECT_THAT(texts(own.float32->limits), ElementsAre("max_abs <= 0.5"));
  EXPECT_THAT(texts(own.float32->warnings), ElementsAre("sqnr_db >= 20"));
  // In the order of the table of metrics, each once.
  EXPECT_THAT(metric_names(rules.metrics()),
              ElementsAre("cosine", "pearson", "max_abs", "rmse", "mean_rel", "rel_euclid", "kl",
                          "sqnr_db", "slice_rel_euclid", "equal_share"));
}

TEST(LimitRules, SeparatorsMayBeReplaced) {
  auto parsed = parse_rules(
      "rule = [{op = 'model_*_conv', profile = 'exact'}, {op = '*', profile = 'standard'}]", "");
  ASSERT_TRUE(parsed) << parsed.error().what;
  const LimitRules rules{"mine", std::move(*parsed)};
  EXPECT_EQ(rules.for_tensor("model/1.conv", "output:0").name, "exact");
}

TEST(LimitRules, ExactNeedsChecksums) {
  auto rules = load_rules("exact", "");
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->name, "exact");
  EXPECT_THAT(metric_names(rules->metrics()),
              ElementsAre("equal_share", "target_crc32", "golden_crc32"));
}

TEST(LimitRules, Complaints) {
  struct Case {
    const char* name;
    std::string text;
    const char* what;
    const char* where;
    const char* remedy;
  };
  const std::string last = "[[rule]]\nop = \"*\"\nprofile = \"standard\"\n";
  const Case cases[] = {
      {"empty", "", "file has no rules", "line 1, column 1", "[[rule]]"},
      {"one table", "[rule]\nop = \"*\"", "file has no rules", "line 1, column 1", "[[rule]]"},
      {"numbers", "rule = [1, 2]", "file has no rules", "line 1, column 1", "[[rule]]"},
      {"no tables", "rule = []", "file has no rules", "line 1, column 1", "[[rule]]"},
      {"a profile", "[limits]\ncosine = \">= 1\"", "this is a profile, not a rule file",
       "line 1, column 2", "--profile"},
      {"unknown table", "[[rules]]\nop = \"*\"", "unknown key 'rules'", "line 1, column 3",
       "did you mean 'rule'?"},
      {"unknown key", "[[rule]]\nopp = \"*\"\n" + last, "unknown key 'opp'", "line 2, column 1",
       "did you mean 'op'?"},
      {"no op", "[[rule]]\nprofile = \"exact\"\n" + last, "does not say which operators",
       "line 1, column 1", "op = \"conv*\""},
      {"op no text", "[[rule]]\nop = 1\nprofile = \"exact\"\n" + last, "'op' is not a text",
       "line 2, column 6", "in quotes"},
      {"nothing to do", "[[rule]]\nop = \"a\"\n" + last, "neither limits nor a profile",
       "line 1, column 1", "profile = \"standard\""},
      {"both", "[[rule]]\nop = \"a\"\nprofile = \"exact\"\nlimits = {cosine = \">= 1\"}\n" + last,
       "limits of its own and a profile", "line 1, column 1", "leave one out"},
      {"unknown profile", "[[rule]]\nop = \"a\"\nprofile = \"offlin\"\n" + last,
       "unknown profile 'offlin'", "line 3, column 11", "did you mean 'offline'?"},
      {"missing file", "[[rule]]\nop = \"a\"\nprofile = \"missing.toml\"\n" + last, "",
       "line 3, column 11, /nowhere/missing.toml", ""},
      {"bad limit", "[[rule]]\nop = \"a\"\nlimits = {cosine = \">> 1\"}\n" + last,
       "unknown comparison '>>'", "line 3, column 20", ">="},
      {"empty limits", "[[rule]]\nop = \"a\"\nlimits = {}\n" + last, "'limits' has no limits",
       "line 3, column 1", ""},
      {"no catch-all", "[[rule]]\nop = \"a\"\nprofile = \"exact\"\n",
       "the last rule does not match everything", "line 1, column 1", "op = \"*\""},
      {"catch-all of a slot", "[[rule]]\nop = \"*\"\nslot = \"output\"\nprofile = \"exact\"\n",
       "the last rule does not match everything", "line 1, column 1", "no slot"},
      {"never used", last + last, "rules below it are never used", "line 1, column 1",
       "put it last"},
  };
  for (const Case& c : cases) {
    auto rules = parse_rules(c.text, "/nowhere");
    ASSERT_FALSE(rules) << c.name;
    EXPECT_THAT(rules.error().what, HasSubstr(c.what)) << c.name;
    EXPECT_THAT(rules.error().where, HasSubstr(c.where)) << c.name;
    EXPECT_THAT(rules.error().remedy, HasSubstr(c.remedy)) << c.name;
  }
}

TEST(LimitRules, FromFiles) {
  const Scratch scratch;
  const auto write = [&](const char* name, std::string_view text) {
    std::ofstream(scratch.path() / name) << text;
    return (scratch.path() / name).string();
  };
  const std::string mine = write("mine.toml", "[limits]\nrmse = \"< 0.1\"\n");
  const std::string rules_file = write(
      "rules.toml", "[[rule]]\nop='a'\nprofile='mine.toml'\n[[rule]]\nop='*'\nprofile='exact'\n");
  const std::string broken = write("broken.toml", "[limits]\nrmsee = \"< 0.1\"\n");
  const std::string uses_broken =
      write("uses_broken.toml", "[[rule]]\nop='*'\nprofile='broken.toml'\n");

  auto profile = load_rules(mine, "");
  ASSERT_TRUE(profile);
  EXPECT_THAT(texts(profile->for_tensor("x", "output:0").any.limits), ElementsAre("rmse < 0.1"));
  EXPECT_EQ(profile->name, mine);

  auto rules = load_rules("standard", rules_file);  // the file decides alone
  ASSERT_TRUE(rules) << rules.error().what << ", " << rules.error().where;
  EXPECT_EQ(rules->name, rules_file);
  EXPECT_EQ(rules->for_tensor("a", "output:0").name, mine);
  EXPECT_EQ(rules->for_tensor("b", "output:0").name, "exact");

  auto error = load_rules(broken, "").error();
  EXPECT_EQ(error.what, "unknown metric 'rmsee'");
  EXPECT_EQ(error.where, broken + ", line 2, column 1");
  error = load_rules("standard", uses_broken).error();
  EXPECT_EQ(error.where, uses_broken + ", line 3, column 9, " + broken + ", line 2, column 1");
  error = load_rules("standrd", "").error();
  EXPECT_EQ(error.what, "unknown profile 'standrd'");
  EXPECT_THAT(error.remedy, HasSubstr("did you mean 'standard'? `plumb profiles` lists them"));
  EXPECT_FALSE(load_rules("nowhere.toml", ""));
  EXPECT_FALSE(load_rules("standard", "nowhere.toml"));
}

}  // namespace
}  // namespace plumb::judge
