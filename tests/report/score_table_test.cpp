// SPDX-License-Identifier: Apache-2.0
#include "report/score_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_runs.h"

namespace plumb::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Run two_samples() {
  result::Run run = sample_run();
  run.command = "run";
  run.samples = {"cat.jpg", "dog.jpg"};
  for (int64_t step : {0, 1}) {
    run.rows.push_back(paired("conv1", Verdict::kPass, values(1, 0.001, 0.5, 1)));
    run.rows.back().step = step;
    run.rows.push_back(step == 0 ? paired("prob", Verdict::kPass, values(0.9999, 0.01, 0.1, 1))
                                 : paired("prob", Verdict::kFail, values(0.9, 0.2, 0.3, 1),
                                          {"limit:cosine"}, "cosine 0.9 is below 0.999"));
    run.rows.back().step = step;
    run.rows.back().is_model_output = true;
  }
  run.accuracy.push_back({"prob", 2, 1, "dog.jpg: 285 against 281", 2, {{1, 1, 2}}});
  return run;
}

// A line for each layer; its numbers are those of all samples.
TEST(ScoreTable, Samples) {
  const std::string text = score_table(two_samples(), {});
  EXPECT_THAT(text, StartsWith("npu/ (ascend-dump) against npy/ (named-npy)\n\nverdict"));
  EXPECT_THAT(text, HasSubstr("2-norm RE mean  cosine-sim mean  2-norm RE max  cosine-sim min"));
  EXPECT_THAT(text, HasSubstr("✓ pass   conv1            0.1%                1           0.1%"));
  EXPECT_THAT(text, HasSubstr("✗ fail   prob            10.5%          0.94995            20%"
                              "             0.9  dog.jpg"));
  EXPECT_THAT(text, HasSubstr("\ntop-1 of prob: the same class on 1 of 2 samples (first: dog.jpg: "
                              "285 against 281); right: target 50.00 %, golden 100.00 % of 2\n"));
  EXPECT_THAT(text, HasSubstr("\nFAIL  1 of 4 compared tensors differs\n"));
}

TEST(ScoreTable, OneSample) {
  result::Run run = two_samples();
  run.samples.resize(1);
  run.rows.resize(2);
  run.accuracy[0] = {"prob", 1, 1, "", 0, {}};
  const std::string text = score_table(run, {});
  EXPECT_THAT(text, HasSubstr("2-norm RE  cosine-sim  pearson"));
  EXPECT_THAT(text, Not(HasSubstr("worst sample")));
  EXPECT_THAT(text, HasSubstr("\ntop-1 of prob: the same class on 1 of 1 sample\n"));
}

// Layers that pass are cut off; outputs and whatever is odd are not.
TEST(ScoreTable, ManyLayers) {
  result::Run run = passing_run();
  run.rows[110].suspicious = true;
  run.rows[119].is_model_output = true;
  const std::string text = score_table(run, {});
  EXPECT_THAT(text, HasSubstr("conv19 "));
  EXPECT_THAT(text, Not(HasSubstr("conv20 ")));
  EXPECT_THAT(text, HasSubstr("~ suspicious  conv110"));
  EXPECT_THAT(text, HasSubstr("conv119"));
  EXPECT_THAT(text, HasSubstr("... and 98 layers more that pass (--all shows them)\n"));
  TerminalStyle all;
  all.all = true;
  EXPECT_THAT(score_table(run, all), HasSubstr("conv20 "));
}

}  // namespace
}  // namespace plumb::report
