// SPDX-License-Identifier: Apache-2.0
#include "plumb/row.h"

#include <gtest/gtest.h>

#include "report/sample_runs.h"

namespace plumb::report {
namespace {

using result::Colour;
using result::Summary;

// One letter per row: p pass, s suspicious pass, f fail, i inconclusive, n not compared, x
// filtered.
Run run_of(std::string_view letters) {
  Run run;
  for (const char c : letters) {
    Row row = paired("op", Verdict::kPass, {});
    row.suspicious = c == 's';
    if (c == 'f') row.verdict = Verdict::kFail;
    if (c == 'i') row.verdict = Verdict::kInconclusive;
    if (c == 'n') row = alone("op", true, "no_golden");
    if (c == 'x') row = alone("op", true, "filtered");
    run.rows.push_back(std::move(row));
  }
  number_rows(run);
  return run;
}

TEST(Summary, Verdict) {
  const struct {
    const char* rows;
    bool interrupted;
    Verdict expected;
    double coverage;
    int64_t first;  // index of the first divergence, -1 if none
  } kCases[] = {
      {"", false, Verdict::kNotCompared, 0, -1},
      {"x", false, Verdict::kNotCompared, 0, -1},
      {"n", false, Verdict::kNotCompared, 0, -1},
      {"nx", true, Verdict::kNotCompared, 0, -1},
      {"p", false, Verdict::kPass, 1, -1},
      {"px", false, Verdict::kPass, 1, -1},  // what the user left out does not count against it
      {"ps", false, Verdict::kPass, 1, -1},
      {"pp", true, Verdict::kInconclusive, 1, -1},
      {"pn", false, Verdict::kInconclusive, 0.5, -1},
      {"pi", false, Verdict::kInconclusive, 1, -1},
      {"i", false, Verdict::kInconclusive, 1, -1},
      {"pinxfpf", false, Verdict::kFail, 5.0 / 6, 4},
      {"nnnf", true, Verdict::kFail, 0.25, 3},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.rows);
    auto run = run_of(c.rows);
    run.interrupted = c.interrupted;
    const Summary s = run.summary();
    EXPECT_EQ(name_of(s.verdict), name_of(c.expected));
    EXPECT_DOUBLE_EQ(s.coverage, c.coverage);
    EXPECT_EQ(s.first_divergence ? run.rows[*s.first_divergence].index : -1, c.first);
  }
}

TEST(Summary, WhatIsDoubtedDoesNotPass) {
  auto run = run_of("pp");
  run.warnings = {"target and golden are the same directory"};
  EXPECT_EQ(run.summary().verdict, Verdict::kPass);
  run.doubts = {"the graph seems to be of another model"};
  EXPECT_EQ(run.summary().verdict, Verdict::kInconclusive);
  run.rows.back().verdict = Verdict::kFail;
  EXPECT_EQ(run.summary().verdict, Verdict::kFail);
}

TEST(Summary, NoFirstWithoutAnOrder) {
  auto run = run_of("pff");
  EXPECT_EQ(run.summary().first_divergence, 1u);
  EXPECT_EQ(run.summary().first_divergence_operator, run.rows[1].any_side().operator_name);
  run.is_ordered = false;
  EXPECT_FALSE(run.summary().first_divergence);
}

TEST(Summary, TotalsAddUp) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const auto run = random_run(seed);
    const Summary s = run.summary();
    EXPECT_EQ(s.rows, static_cast<int64_t>(run.rows.size()));
    EXPECT_EQ(s.rows, s.pass + s.fail + s.inconclusive + s.not_compared);
    EXPECT_LE(s.filtered, s.not_compared);
    EXPECT_LE(s.suspicious, s.pass);
    EXPECT_GE(s.coverage, 0);
    EXPECT_LE(s.coverage, 1);
    EXPECT_EQ(s.first_divergence.has_value(), s.fail > 0);
    // No false pass: something was compared, and nothing that was wanted is missing.
    if (s.verdict == Verdict::kPass) {
      EXPECT_EQ(s.pass, s.rows - s.filtered);
      EXPECT_GT(s.pass, 0);
      EXPECT_FALSE(run.interrupted);
    }
  }
}

TEST(Row, Colours) {
  const std::pair<char, Colour> kCases[] = {{'p', Colour::kGreen}, {'s', Colour::kYellow},
                                            {'f', Colour::kRed},   {'i', Colour::kYellow},
                                            {'n', Colour::kGrey},  {'x', Colour::kGrey}};
  for (const auto& [letter, expected] : kCases)
    EXPECT_EQ(colour_of(run_of(std::string(1, letter)).rows[0]), expected) << letter;
}

TEST(Row, FilteredByAnyReason) {
  Row row = alone("op", true, "no_golden");
  EXPECT_FALSE(row.is_filtered());
  row.reasons.push_back("filtered");
  EXPECT_TRUE(row.is_filtered());
}

TEST(Run, ValueByName) {
  auto run = sample_run();
  const Row row = paired("op", Verdict::kPass, values(0.5, 1, 2, 3));
  EXPECT_EQ(run.value(row, "cosine").number(), 0.5);
  EXPECT_EQ(run.value(row, "max_rel").number(), 3);
  EXPECT_TRUE(run.value(row, "bulk_rel_euclid").is_bound());
  EXPECT_FALSE(run.value(row, "kl").is_defined());
  EXPECT_STREQ(run.value(row, "kl").reason(), "not computed");
  EXPECT_FALSE(run.value(alone("op", true, "no_golden"), "cosine").is_defined());
}

}  // namespace
}  // namespace plumb::report
