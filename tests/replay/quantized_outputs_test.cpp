// SPDX-License-Identifier: Apache-2.0
//
// Verdicts over all samples: which classes may change, and what shares are judged by.
#include "replay/quantized_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/metric.h"

namespace plumb::replay {
namespace {

using result::Row;

constexpr const char* kNoise = "limit:sqnr_db";
constexpr const char* kDirection = "limit:pearson";

// One output over samples; without a reason a row passes.
class Outputs {
 public:
  Outputs() {
    run_.profile = kQuantizedProfile;
    run_.metrics = {metrics::metric_by_name("sqnr_db")};
    run_.limits = {{"sqnr_db", ">=", 20, ""}};
  }
  Outputs& add(const std::string& op, int64_t samples, std::vector<std::string> reasons = {},
               double db = 30) {
    for (int64_t i = 0; i < samples; ++i) {
      Row& row = run_.rows.emplace_back();
      row.step = steps_[op]++;
      row.target = row.golden = {op, "", "output:0", "float32", {}, "", ""};
      row.is_model_output = op == "out";
      row.values = {metrics::Value::of(db)};
      row.verdict = reasons.empty() ? result::Verdict::kPass : result::Verdict::kFail;
      row.reasons = reasons;
    }
    return *this;
  }
  // The class differs on the first samples.
  Outputs& differ(int64_t samples) {
    for (int64_t i = 0; i < samples; ++i) classes_.disagreements.push_back({i, 1, 2});
    return *this;
  }
  Outputs& tells_no_class() {
    classes_.output = "another";
    return *this;
  }
  // How many rows of an operator pass, and how many fail.
  std::pair<int, int> judged(const std::string& op = "out", const ScoresBehind& behind = {}) {
    judge_quantized_outputs(behind, std::span(&classes_, 1), run_);
    std::pair<int, int> counts{};
    for (const Row& row : run_.rows)
      if (row.target->operator_name == op)
        ++(row.verdict == result::Verdict::kPass ? counts.first : counts.second);
    return counts;
  }
  result::Run& run() { return run_; }

 private:
  result::Run run_;
  Scores::Counts classes_{.output = "out", .disagreements = {}, .top = {}};
  std::map<std::string, int64_t> steps_;
};

using Counts = std::pair<int, int>;

const ScoresBehind kBehind{{{"out", "output:0"}, {"scores", "output:0"}}};

TEST(QuantizedOutputs, OneSampleInTenMayBeOff) {
  const auto classes = [](int64_t differ) {
    return Outputs().add("scores", 20).add("out", 20).differ(differ).judged("scores", kBehind);
  };
  EXPECT_EQ(classes(2), (Counts{20, 0}));
  EXPECT_EQ(classes(3), (Counts{17, 3}));
  EXPECT_EQ(Outputs().add("out", 2, {kDirection}).add("out", 18).judged(), (Counts{20, 0}));
  EXPECT_EQ(Outputs().add("out", 3, {kDirection}).add("out", 17).judged(), (Counts{17, 3}));
  // Both kinds count.
  EXPECT_EQ(Outputs().add("out", 18).add("out", 2, {kDirection}).differ(1).judged(),
            (Counts{18, 2}));
}

// A list of numbers may be something else than scores: its largest number alone fails nothing.
TEST(QuantizedOutputs, WithoutSharesTheClassIsToldOnly) {
  Outputs outputs;
  EXPECT_EQ(outputs.add("out", 20).differ(3).judged(), (Counts{20, 0}));
  EXPECT_TRUE(outputs.run().rows[0].suspicious);
}

TEST(QuantizedOutputs, FewSamplesTellLittle) {
  // A class that was nearly tied is told, and no more than that.
  EXPECT_EQ(Outputs().add("out", 9).differ(1).judged(), (Counts{9, 0}));
  EXPECT_EQ(Outputs().add("out", 1, {kDirection}).add("out", 8).judged(), (Counts{8, 1}));
  Outputs one;
  EXPECT_EQ(one.add("out", 9).differ(1).judged(), (Counts{9, 0}));
  EXPECT_TRUE(one.run().rows[0].suspicious);
  EXPECT_EQ(one.run().rows[0].message, "class 1 instead of 2, 1 of 9 samples are off");
}

TEST(QuantizedOutputs, NoiseAloneMayBeTwiceAsLargeWhereTheClassIsTheSame) {
  EXPECT_EQ(Outputs().add("out", 20, {kNoise}, 14).judged(), (Counts{20, 0}));
  EXPECT_EQ(Outputs().add("out", 20, {kNoise}, 13.9).judged(), (Counts{0, 20}));
  EXPECT_EQ(Outputs().add("out", 20, {kNoise, kDirection}, 19).judged(), (Counts{0, 20}));
  EXPECT_EQ(Outputs().tells_no_class().add("out", 20, {kNoise}, 19).judged(), (Counts{0, 20}));
}

TEST(QuantizedOutputs, WhatIsNoLimitStaysAFailure) {
  EXPECT_EQ(Outputs().add("out", 1, {"nan_only_in_target"}).add("out", 99).judged(),
            (Counts{99, 1}));
  EXPECT_EQ(Outputs().tells_no_class().add("out", 1, {kNoise}, 19).add("out", 99).judged(),
            (Counts{99, 1}));
}

TEST(QuantizedOutputs, SharesAreJudgedByTheirScores) {
  EXPECT_EQ(Outputs().add("scores", 20).add("out", 20, {kNoise}, 5).judged("out", kBehind),
            (Counts{20, 0}));
  EXPECT_EQ(Outputs().add("scores", 20, {kDirection}).add("out", 20).judged("scores", kBehind),
            (Counts{0, 20}));
  EXPECT_EQ(
      Outputs().add("scores", 20, {kDirection}).add("out", 20, {kNoise}, 5).judged("out", kBehind),
      (Counts{0, 20}));
  // The class that changed is told by the scores.
  EXPECT_EQ(Outputs().add("scores", 20).add("out", 20).differ(3).judged("scores", kBehind),
            (Counts{17, 3}));
  // Nothing is known of the scores.
  EXPECT_EQ(Outputs().add("out", 20, {kNoise}, 5).judged("out", kBehind), (Counts{0, 20}));
  EXPECT_EQ(
      Outputs().add("scores", 20).add("out", 20, {"nan_only_in_target"}).judged("out", kBehind),
      (Counts{0, 20}));
}

}  // namespace
}  // namespace plumb::replay
