// SPDX-License-Identifier: Apache-2.0
//
// The exit status of a run: what is agreement, difference and trouble.
#include "judge/outcome.h"

#include <gtest/gtest.h>

namespace plumb::judge {
namespace {

using result::Row;
using result::Verdict;

Row row_with(Verdict verdict, std::vector<std::string> reasons = {}) {
  Row made;
  made.verdict = verdict;
  made.reasons = std::move(reasons);
  made.target.emplace();
  return made;
}

const Row kPass = row_with(Verdict::kPass);
const Row kFail = row_with(Verdict::kFail, {"limit:cosine"});
const Row kOpen = row_with(Verdict::kInconclusive, {"undefined:cosine"});
const Row kNoGolden = row_with(Verdict::kNotCompared, {"no_golden"});
const Row kNoTarget = row_with(Verdict::kNotCompared, {"no_target"});
const Row kFiltered = row_with(Verdict::kNotCompared, {"filtered"});
const Row kFused = row_with(Verdict::kNotCompared, {"inside_fusion"});
const Row kDamaged = row_with(Verdict::kNotCompared, {"damaged_file"});
const Row kInterrupted = row_with(Verdict::kNotCompared, {"interrupted"});

struct OutcomeCase {
  const char* what;
  std::vector<Row> rows;
  std::vector<std::string> allowed;
  Outcome outcome;
};

TEST(Outcome, OfRows) {
  using enum Outcome;
  const OutcomeCase cases[] = {
      {"nothing", {}, {}, kTrouble},
      {"nothing compared", {kNoGolden, kDamaged}, {}, kTrouble},
      {"nothing compared, though that is allowed", {kNoGolden}, {"missing"}, kTrouble},
      {"all filtered", {kFiltered}, {}, kTrouble},
      {"one passes", {kPass}, {}, kAgreement},
      {"one fails", {kPass, kFail}, {}, kDifference},
      {"a failure is never allowed", {kFail}, {"missing", "inconclusive"}, kDifference},
      {"inconclusive", {kPass, kOpen}, {}, kDifference},
      {"inconclusive, allowed", {kPass, kOpen}, {"inconclusive"}, kAgreement},
      {"inconclusive, something else allowed", {kPass, kOpen}, {"missing"}, kDifference},
      {"golden missing", {kPass, kNoGolden}, {}, kDifference},
      {"golden missing, allowed", {kPass, kNoGolden}, {"missing"}, kAgreement},
      {"target missing, allowed", {kPass, kNoTarget}, {"missing"}, kAgreement},
      {"filtered", {kPass, kFiltered}, {}, kAgreement},
      {"fused away", {kPass, kFused}, {}, kAgreement},
      {"damaged", {kPass, kDamaged}, {}, kDifference},
      {"damaged is not missing", {kPass, kDamaged}, {"missing"}, kDifference},
      {"interrupted", {kPass, kInterrupted}, {"missing"}, kDifference},
  };
  for (const OutcomeCase& each : cases) {
    result::Run run;
    run.rows = each.rows;
    const auto allowed = allowance_from(each.allowed);
    ASSERT_TRUE(allowed) << each.what;
    EXPECT_EQ(outcome_of(run, *allowed), each.outcome) << each.what;
  }
}

TEST(Outcome, OfTheRunAsAWhole) {
  const Allowance all{true, true};
  result::Run run;
  run.rows = {kPass};
  run.doubts = {"the graph is of another model"};
  EXPECT_EQ(outcome_of(run, all), Outcome::kDifference);
  run.doubts.clear();
  run.outputs_not_compared = {"prob"};
  EXPECT_EQ(outcome_of(run, all), Outcome::kDifference);
  run.outputs_not_compared.clear();
  run.baseline.emplace();  // no output was held against it
  EXPECT_EQ(outcome_of(run, all), Outcome::kDifference);
  run.baseline->outputs_held = 1;
  EXPECT_EQ(outcome_of(run, all), Outcome::kAgreement);
}

TEST(Outcome, UnknownWords) {
  const auto allowed = allowance_from({"missing", "failures"});
  ASSERT_FALSE(allowed);
  EXPECT_EQ(allowed.error().where, "--allow failures");
}

}  // namespace
}  // namespace plumb::judge
