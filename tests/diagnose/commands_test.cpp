// SPDX-License-Identifier: Apache-2.0
#include "diagnose/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace plumb::diagnose {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = std::string(PLUMB_TEST_DATA) + "/onnx_edit/chain.onnx";

result::Run compared(const Scratch& scratch) {
  result::Run run;
  run.command = "compare";
  run.target.path = (scratch.path() / "npu dump").string();
  run.target.convention = "ascend-dump";
  std::filesystem::create_directory(run.target.path);
  return run;
}

TEST(Commands, ShowTensorsWithoutAModel) {
  const Scratch scratch;
  const result::Run run = compared(scratch);
  const Commands commands(run, {"plumb compare a b", "", {}});
  EXPECT_EQ(commands.look_at("it's[0]"),
            "plumb inspect '" + run.target.path + "' --stats --op 'it'\\''s\\[0]'");
  EXPECT_EQ(commands.rank_all(), "");
  EXPECT_EQ(commands.diff(), "");
}

TEST(Commands, WriteTheResultFirstIfNobodyDid) {
  const Scratch scratch;
  result::Run run = compared(scratch);
  run.told.golden_graph = kModel;
  const Commands without(run, {"plumb compare a b", "", {}});
  EXPECT_THAT(without.look_at("conv"), StartsWith("plumb compare a b --json result"));
  EXPECT_THAT(without.look_at("conv"), HasSubstr(".json > /dev/null; plumb isolate result"));
  EXPECT_THAT(without.look_at("conv"), EndsWith(" --op conv --model " + kModel));
  const Commands with(run, {"plumb compare a b", "my result.json", {}});
  EXPECT_EQ(with.look_at("conv"), "plumb isolate 'my result.json' --op conv --model " + kModel);
  EXPECT_EQ(with.rank_all(), "plumb isolate 'my result.json' --all --model " + kModel);
  EXPECT_EQ(Commands(run, {"", "my result.json", {}, true}).rank_all(), "");  // it is the ranking
  EXPECT_THAT(with.write_config(),
              StartsWith("plumb diagnose 'my result.json' --write-config atc"));
  run.target.convention = "named-npy";
  EXPECT_EQ(with.write_config(), "");
}

TEST(Commands, KeepTensorsOfARunFirst) {
  result::Run run;
  run.command = "run";
  run.target.path = run.golden.path = kModel;
  const Commands commands(run, {"plumb run a b", "r.json", {}});
  EXPECT_THAT(commands.look_at("conv"), StartsWith("plumb run a b --layers all --keep kept"));
  EXPECT_THAT(commands.look_at("conv"),
              EndsWith(" --json r.json > /dev/null; plumb isolate r.json --op conv"));
  EXPECT_EQ(commands.diff(), "plumb diff " + kModel + " " + kModel);
  EXPECT_EQ(commands.all_layers(), "plumb run a b --layers all");
  run.target.kept = run.golden.kept = "kept/x";
  EXPECT_EQ(commands.look_at("conv"), "plumb isolate r.json --op conv");
}

// Nothing is named that is not there.
TEST(Commands, AreNoneWhereNothingIsKnown) {
  result::Run run;
  run.command = "run";
  run.target.path = "gone/a.onnx";
  run.golden.path = "gone/b.onnx";
  const Commands commands(run, {"", "r.json", {}});
  EXPECT_EQ(commands.look_at("conv"), "");
  EXPECT_EQ(commands.diff(), "");
  EXPECT_EQ(commands.all_layers(), "");
}

}  // namespace
}  // namespace plumb::diagnose
