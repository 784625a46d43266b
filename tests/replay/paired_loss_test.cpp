// SPDX-License-Identifier: Apache-2.0
//
// Expected numbers by Python: sums of math.comb for few flips, math.erfc of the statistic with
// continuity correction for many, and the interval by the formula of docs/eval.md.
#include "replay/paired_loss.h"

#include <gtest/gtest.h>

namespace plumb::replay {
namespace {

TEST(PairedLoss, IntervalAndMcNemar) {
  struct Case {
    Flips flips;
    double delta, low, high, p;
  };
  const Case cases[] = {
      {{10000, 171, 123}, -0.0048, -0.008159, -0.001441, 0.006123},  // the example of the docs
      {{66, 0, 0}, 0, 0, 0, 1},
      {{66, 1, 0}, -0.015152, -0.044623, 0.014320, 1},
      {{1000, 5, 5}, 0, -0.006198, 0.006198, 1},
      {{1000, 8, 1}, -0.007, -0.012864, -0.001136, 0.039063},
      {{1000, 24, 0}, -0.024, -0.033486, -0.014514, 1.192093e-07},
      {{1000, 25, 0}, -0.025, -0.034677, -0.015323, 1.586656e-06},
      {{1, 1, 0}, -1, -1, -1, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.flips.lost);
    const PairedLoss loss = paired_loss(c.flips);
    EXPECT_NEAR(loss.delta, c.delta, 1e-6);
    EXPECT_NEAR(loss.low, c.low, 1e-6);
    EXPECT_NEAR(loss.high, c.high, 1e-6);
    EXPECT_NEAR(loss.p, c.p, 1e-6);
    EXPECT_LE(loss.careful_low, loss.high);
  }
}

TEST(PairedLoss, Verdicts) {
  struct Case {
    const char* name;
    Flips flips;
    LossVerdict verdict;
  };
  const Case cases[] = {
      {"no flips on ten samples prove nothing", {10, 0, 0}, LossVerdict::kInconclusive},
      {"nor on 270", {270, 0, 0}, LossVerdict::kInconclusive},
      {"on 280 they do", {280, 0, 0}, LossVerdict::kPass},
      {"the example of the docs", {10000, 171, 123}, LossVerdict::kPass},
      {"many samples, many flips", {10000, 500, 500}, LossVerdict::kPass},
      {"few samples, many flips", {1000, 50, 50}, LossVerdict::kInconclusive},
      {"just within", {100000, 900, 0}, LossVerdict::kPass},
      {"just outside", {100000, 1100, 0}, LossVerdict::kFail},
      {"around one percent", {10000, 100, 0}, LossVerdict::kInconclusive},
      {"two percent", {10000, 200, 0}, LossVerdict::kFail},
      {"three percent", {10000, 300, 0}, LossVerdict::kSevere},
      {"one of 66 is 1.5 points", {66, 1, 0}, LossVerdict::kInconclusive},
      {"better", {10000, 0, 300}, LossVerdict::kPass},
  };
  for (const Case& c : cases) EXPECT_EQ(judge_loss(paired_loss(c.flips), {}), c.verdict) << c.name;
}

TEST(PairedLoss, SamplesNeeded) {
  EXPECT_EQ(samples_needed({100, 5, 0}, 0.01), 1921);  // 38416 * 5 %
  EXPECT_EQ(samples_needed({100, 5, 5}, 0.01), 3842);  // ... * 10 %
  EXPECT_EQ(samples_needed({1000, 100, 100}, 0.01), 7684);
  EXPECT_EQ(samples_needed({10, 0, 0}, 0.01), 278);
  EXPECT_GT(samples_needed({10000, 100, 0}, 0.01), 10000);  // a loss of just what is allowed
}

}  // namespace
}  // namespace plumb::replay
