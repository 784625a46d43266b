// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kGeTensors{
    "MatMul input:0", "MatMul input:1", "MatMul output:0", "Add_1 input:0",
    "Add_1 input:1",  "Add_1 output:0", "Relu_2 input:0",  "Relu_2 output:0",
};

std::vector<std::string> with_prefixes(const std::vector<std::string>& prefixes,
                                       const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const std::string& prefix : prefixes)
    for (const std::string& line : lines) all.push_back(prefix + line);
  return all;
}

TEST(TorchairGe, RanksAndTokens) {
  const DumpSet set = open(sample("msprobe/multi_rank/target"));
  EXPECT_EQ(set.convention, "torchair-ge");
  EXPECT_EQ(lines_of(set),
            with_prefixes({"rank 0 step 0 ", "rank 0 step 1 ", "rank 1 step 0 ", "rank 1 step 1 "},
                          kGeTensors));
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("dynamo_original_graph_1_rank_0_pid_4242_ts_20250601115959000001.txt: graph of "
                  "the model",
                  "dynamo_original_graph_1_rank_1_pid_4242_ts_20250601115959000001.txt: graph of "
                  "the model"));
  EXPECT_EQ(set.entries[0].type, "MatMulV2");
  EXPECT_EQ(set.entries[0].timestamp, 1749000000000001);
  EXPECT_THAT(set.warnings, IsEmpty());
  expect_all_accounted(set);
}

TEST(TorchairGe, WithoutRankLevel) {
  const DumpSet set = open(sample("msprobe/ge_fx_old/target"));
  EXPECT_EQ(set.convention, "torchair-ge");
  auto four = kGeTensors;
  for (std::string_view slot : {"input:0", "input:1", "output:0"})
    four.push_back(fmt::format("Bf_5 {}", slot));
  EXPECT_EQ(lines_of(set), with_prefixes({"step 0 ", "step 1 ", "step 2 "}, four));
  expect_all_accounted(set);
}

TEST(TorchairGe, GraphsAreNamedWhereThereAreSeveral) {
  EXPECT_EQ(
      lines_of(open(sample("msprobe/two_graphs/target"))),
      with_prefixes({"rank 0 step 0 [graph_1_0] ", "rank 0 step 0 [graph_2_0] "}, kGeTensors));
  EXPECT_EQ(lines_of(open(sample("msprobe/ge_fx_710/target"))),
            with_prefixes({"rank 0 step 0 ", "rank 0 step 1 "}, kGeTensors));
  // One level up, where FX data lie beside it.
  const DumpSet both = open(sample("msprobe/ge_fx_710"));
  EXPECT_EQ(both.convention, "torchair-ge");
  const auto beside = std::count_if(both.entries.begin(), both.entries.end(),
                                    [](const Entry& entry) { return entry.is_beside; });
  EXPECT_EQ(beside, 16);
  EXPECT_EQ(both.entries.size(), 16u + 16u);
  EXPECT_EQ(both.skipped.size(), 2u);  // the graph, and the table of what comes out
  expect_all_accounted(both);
}

TEST(TorchairGe, AllOperatorsOfALargerDump) {
  const DumpSet set = open(sample("msprobe/ge_fx_new/target"));
  EXPECT_EQ(set.entries.size(), 66u);  // 18 inputs and 15 outputs, twice
  std::vector<std::string> names;
  for (const Entry& entry : set.entries)
    if (entry.step() == 1 && (names.empty() || names.back() != entry.operator_name))
      names.push_back(entry.operator_name);
  EXPECT_THAT(names, ElementsAre("MatMul", "Add_1", "Relu_2", "trans_Cast_14", "trans_TransData_15",
                                 "Mul_4Sigmoid_5", "SplitD_6", "ReduceSum_7", "Equal_8", "Ghost_9",
                                 "Div_10", "Zeros_11", "Arg_12", "Pad_13"));
  expect_all_accounted(set);
}

TEST(TorchairGe, ReducedFilesAreStatistics) {
  const DumpSet set = open(sample("msprobe/reduced_min_max/target"));
  EXPECT_EQ(set.convention, "torchair-ge");
  EXPECT_EQ(lines_of(set), with_prefixes({"rank 0 step 0 ", "rank 0 step 1 "}, kGeTensors));
  const Entry& add = find(set, "rank 0 step 0 Add_1 input:1");
  EXPECT_TRUE(add.parts.empty());
  EXPECT_EQ(add.type, "Add");
  EXPECT_EQ(add.timestamp, 1749000000000002);
  ASSERT_TRUE(add.statistics);
  EXPECT_EQ(add.statistics->min, -2.1980578899383545);
  EXPECT_EQ(add.statistics->max, 1.1387124061584473);
  EXPECT_THAT(add.record.str(), testing::EndsWith("/Add.Add_1.4.7.1749000000000002_min_max.npz"));
  expect_all_accounted(set);
}

}  // namespace
}  // namespace plumb::dump
