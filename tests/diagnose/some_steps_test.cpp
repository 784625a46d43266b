// SPDX-License-Identifier: Apache-2.0
//
// Findings name the steps, samples and ranks that differ, where others do not.
#include "diagnose/some_steps.h"

#include <gtest/gtest.h>

namespace plumb::diagnose {
namespace {

struct StepPlace {
  int64_t step;
  bool differs;
};

// One operator's output at each step.
result::Run steps_run(const std::vector<StepPlace>& places) {
  result::Run run;
  run.is_ordered = true;
  for (const StepPlace& place : places) {
    result::Row& row = run.rows.emplace_back();
    row.step = place.step;
    row.target.emplace();
    row.target->operator_name = "conv";
    row.target->slot = "output:0";
    row.golden = row.target;
    row.verdict = place.differs ? result::Verdict::kFail : result::Verdict::kPass;
  }
  return run;
}

std::string told_steps(const result::Run& run) {
  const Net net = net_of(run);
  std::string text;
  for (const result::Evidence& each : only_some_steps(net, net.nodes.at(0))) {
    EXPECT_EQ(run.rows[static_cast<size_t>(*each.row)].verdict, result::Verdict::kFail);
    text += each.text + ";";
  }
  return text;
}

TEST(SomeSteps, Cases) {
  EXPECT_EQ(told_steps(steps_run({{0, false}, {1, false}, {2, true}})),
            "only step 2 of 3 differs;");
  EXPECT_EQ(told_steps(steps_run({{0, true}, {1, false}, {2, true}})),
            "only steps 0, 2 of 3 differ;");
  EXPECT_EQ(told_steps(steps_run({{0, true}, {1, true}})), "");
  EXPECT_EQ(told_steps(steps_run({{0, false}, {1, false}})), "");
  EXPECT_EQ(told_steps(steps_run({{0, true}})), "");
  EXPECT_EQ(told_steps(steps_run(
                {{0, true}, {1, true}, {2, true}, {3, true}, {4, true}, {5, true}, {6, false}})),
            "only steps 0, 1, 2, 3 and 2 more of 7 differ;");
}

TEST(SomeSteps, SamplesAndRanksHaveNames) {
  result::Run run = steps_run({{0, false}, {1, true}});
  run.samples = {"cat.jpg", "dog.jpg"};
  EXPECT_EQ(told_steps(run), "only sample dog.jpg of 2 differs;");
  for (result::Row& row : run.rows.all()) row.rank = std::exchange(row.step, std::nullopt);
  EXPECT_EQ(told_steps(run), "only rank 1 of 2 differs;");
}

}  // namespace
}  // namespace plumb::diagnose
