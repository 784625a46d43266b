// SPDX-License-Identifier: Apache-2.0
#include "report/model_diff_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::report {
namespace {

using graph::Difference;
using graph::DiffGrade;
using testing::HasSubstr;
using testing::Not;

Difference difference(DiffGrade grade, const std::string& message) {
  Difference made;
  made.grade = grade;
  made.message = message;
  return made;
}

std::string text_of(const graph::ModelDiff& diff, bool all, bool colour = false) {
  return model_diff_text(diff, {"a.onnx", "b.onnx"}, all, colour);
}

TEST(ModelDiffText, EndsInWhatFollows) {
  graph::ModelDiff diff;
  EXPECT_THAT(text_of(diff, false), HasSubstr("\nthe same model\n"));
  diff.differences = {difference(DiffGrade::kUnverified, "who knows")};
  EXPECT_THAT(text_of(diff, false), HasSubstr("\nno difference found, but only a run can tell\n"));
  diff.differences.push_back(difference(DiffGrade::kDifferent, "another stride"));
  EXPECT_THAT(text_of(diff, false), HasSubstr("\n1 difference\n"));
  EXPECT_THAT(text_of(diff, false), HasSubstr("\nthe models differ\n"));
}

TEST(ModelDiffText, ListsAreCutUnlessAllAreWanted) {
  graph::ModelDiff diff;
  for (int i = 0; i < 41; ++i)
    diff.differences.push_back(difference(DiffGrade::kDifferent, "d" + std::to_string(i) + "."));
  diff.differences.push_back(difference(DiffGrade::kEquivalent, "no matter"));
  const std::string cut = text_of(diff, false), all = text_of(diff, true);
  EXPECT_THAT(cut, HasSubstr("d39."));
  EXPECT_THAT(cut, HasSubstr("... and 1 more (--all shows them)"));
  EXPECT_THAT(cut, Not(HasSubstr("d40.")));
  EXPECT_THAT(cut, Not(HasSubstr("no matter")));  // only counted
  EXPECT_THAT(cut, HasSubstr("1 place written in another way"));
  EXPECT_THAT(all, HasSubstr("d40."));
  EXPECT_THAT(all, HasSubstr("no matter"));
}

TEST(ModelDiffText, NamesCannotRepaintTheScreen) {
  graph::ModelDiff diff;
  diff.differences = {difference(DiffGrade::kDifferent, "conv\033[2J")};
  EXPECT_THAT(text_of(diff, false), Not(HasSubstr("\033")));
  EXPECT_THAT(text_of(diff, false, true), HasSubstr("\033[31m1 difference\033[0m"));
  EXPECT_THAT(text_of(diff, false, true), Not(HasSubstr("\033[2J")));
}

}  // namespace
}  // namespace plumb::report
