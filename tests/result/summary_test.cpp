// SPDX-License-Identifier: Apache-2.0
//
// The totals of a run, and its verdict.
#include <gtest/gtest.h>

#include "result/row.h"

namespace plumb::result {
namespace {

Row row(const char* name, Verdict verdict, std::vector<std::string> reasons = {}) {
  Row made;
  made.target.emplace();
  made.target->operator_name = name;
  made.verdict = verdict;
  made.reasons = std::move(reasons);
  return made;
}

const Row kPass = row("pass", Verdict::kPass);
const Row kFail = row("fail", Verdict::kFail, {"limit:cosine"});
const Row kOpen = row("open", Verdict::kInconclusive, {"statistics_only"});
const Row kLost = row("lost", Verdict::kNotCompared, {"no_golden"});
const Row kFiltered = row("filtered", Verdict::kNotCompared, {"filtered"});
const Row kFused = row("fused", Verdict::kNotCompared, {"inside_fusion"});

Summary summary_of(std::vector<Row> rows) {
  Run run;
  run.rows = std::move(rows);
  return run.summary();
}

TEST(Summary, VerdictOfTheRun) {
  struct Case {
    const char* what;
    std::vector<Row> rows;
    Verdict verdict;
    double coverage;
  };
  const Case cases[] = {
      {"no rows", {}, Verdict::kNotCompared, 0},
      {"nothing compared", {kLost, kFiltered}, Verdict::kNotCompared, 0},
      {"all pass", {kPass, kPass}, Verdict::kPass, 1},
      {"what has no counterpart does not hinder", {kPass, kFused, kFiltered}, Verdict::kPass, 1},
      {"a missing tensor does", {kPass, kLost}, Verdict::kInconclusive, 0.5},
      {"so does an open question", {kPass, kOpen}, Verdict::kInconclusive, 1},
      {"a failure outweighs all", {kPass, kOpen, kLost, kFail}, Verdict::kFail, 0.75},
  };
  for (const Case& each : cases) {
    const Summary summary = summary_of(each.rows);
    EXPECT_EQ(summary.verdict, each.verdict) << each.what;
    EXPECT_EQ(summary.coverage, each.coverage) << each.what;
    EXPECT_EQ(summary.rows, std::ssize(each.rows)) << each.what;
    EXPECT_EQ(summary.rows,
              summary.pass + summary.fail + summary.inconclusive + summary.not_compared)
        << each.what;
  }
}

TEST(Summary, OfTheRunAsAWhole) {
  Run run;
  run.rows = {kPass};
  EXPECT_EQ(run.summary().verdict, Verdict::kPass);
  for (const auto spoil :
       {+[](Run& r) { r.interrupted = true; }, +[](Run& r) { r.outputs_not_compared = {"prob"}; },
        +[](Run& r) { r.doubts = {"another model"}; }}) {
    Run spoiled = run;
    spoil(spoiled);
    EXPECT_EQ(spoiled.summary().verdict, Verdict::kInconclusive);
  }
  run.baseline.emplace();  // holds nothing
  EXPECT_EQ(run.summary().verdict, Verdict::kFail);
}

TEST(Summary, FirstDivergenceNeedsAnOrder) {
  Run run;
  run.rows = {kPass, kLost, kFail, row("later", Verdict::kFail)};
  Summary summary = run.summary();
  ASSERT_TRUE(summary.first_divergence);
  EXPECT_EQ(*summary.first_divergence, 2u);
  EXPECT_EQ(summary.first_divergence_operator, "fail");
  run.is_ordered = false;
  EXPECT_FALSE(run.summary().first_divergence);
}

}  // namespace
}  // namespace plumb::result
