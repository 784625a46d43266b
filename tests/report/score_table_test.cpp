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

// A line for each layer; its numbers are those of all samples.
TEST(ScoreTable, Samples) {
  const std::string text = score_table(sampled_run(), {});
  EXPECT_THAT(text, StartsWith("FAIL  1 of 4 compared tensors differs\n"));
  EXPECT_THAT(text, HasSubstr("  sides     npu/ (ascend-dump) against npy/ (named-npy)"));
  EXPECT_THAT(text, HasSubstr("2-norm RE mean  cosine-sim mean  2-norm RE max  cosine-sim min"));
  EXPECT_THAT(text, HasSubstr("✓ pass   conv1            0.1%                1           0.1%"));
  EXPECT_THAT(text, HasSubstr("✗ fail   prob            10.5%          0.94995            20%"
                              "             0.9  dog.jpg"));
  EXPECT_THAT(text,
              HasSubstr("\ntop-1 of prob: the same class on 1 of 2 samples (first: dog.jpg: "
                        "285 against 281); right: target 50.00 %, golden 100.00 %, top-5: target "
                        "100.00 %, golden 100.00 % of 2\n"));
}

TEST(ScoreTable, OneSample) {
  result::Run run = sampled_run();
  run.samples.resize(1);
  run.rows.resize(2);
  run.accuracy[0] = {"prob", 1, 1, {}, 0, {}};
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

// Of more layers than fit, those that differ most.
TEST(ScoreTable, TheWorstLayersAreShown) {
  result::Run run = passing_run();  // the distance grows from layer to layer
  for (result::Row& row : run.rows.all()) row.verdict = Verdict::kFail;
  const std::string text = score_table(run, {});
  EXPECT_THAT(text, HasSubstr("conv119 "));
  EXPECT_THAT(text, HasSubstr("conv90 "));
  EXPECT_THAT(text, Not(HasSubstr("conv50 ")));
  EXPECT_THAT(text, HasSubstr("... and 80 layers more, 80 of them no plain pass"));
}

}  // namespace
}  // namespace plumb::report
