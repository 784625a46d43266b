// SPDX-License-Identifier: Apache-2.0
#include "report/environment_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::report {
namespace {

using testing::HasSubstr;

TEST(EnvironmentText, SaysWhatIsNotThere) {
  scan::Environment environment;
  environment.root = "/copy";
  environment.engines = {{"onnxruntime", ""}, {"opencv", "4.6.0"}};
  environment.variables = {{"LD_PRELOAD", "x\033.so"}};
  const std::string text = environment_text(environment);
  EXPECT_THAT(text, HasSubstr("no Ascend software below /copy\n"));
  EXPECT_THAT(text, HasSubstr("onnxruntime  not installed\n"));
  EXPECT_THAT(text, HasSubstr("opencv       4.6.0\n"));
  EXPECT_THAT(text, HasSubstr("LD_PRELOAD=x\\x1b.so\n"));
}

TEST(EnvironmentText, OfTwoWhatChanged) {
  scan::EnvDiff diff;
  EXPECT_EQ(environment_diff_text(diff), "the same environment\n");
  diff.changes = {{"driver", "25.0", ""}, {"cpu", "", "x86"}};
  EXPECT_EQ(environment_diff_text(diff),
            "driver: 25.0 instead of not there\ncpu: not there instead of x86\n2 changes\n");
}

}  // namespace
}  // namespace plumb::report
