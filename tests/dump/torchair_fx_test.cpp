// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The tensors of three operators, as the small test dumps have them.
const std::vector<std::string> kFxTensors{
    "add_1-aten.add.Tensor input:0",    "add_1-aten.add.Tensor input:1",
    "add_1-aten.add.Tensor output:0",   "mm-aten.mm.default input:0",
    "mm-aten.mm.default input:1",       "mm-aten.mm.default output:0",
    "relu_2-aten.relu.default input:0", "relu_2-aten.relu.default output:0",
};

std::vector<std::string> with_prefix(std::string_view prefix,
                                     const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const std::string& line : lines) all.push_back(std::string(prefix) + line);
  return all;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(TorchairFx, RankedLayoutNamesTheToken) {
  const DumpSet set = open(sample("msprobe/multi_rank/golden"));
  EXPECT_EQ(set.convention, "torchair-fx");
  EXPECT_EQ(lines_of(set), with_prefix("rank 0 step 0 ", kFxTensors) +
                               with_prefix("rank 0 step 1 ", kFxTensors) +
                               with_prefix("rank 1 step 0 ", kFxTensors) +
                               with_prefix("rank 1 step 1 ", kFxTensors));
  EXPECT_EQ(set.entries[0].type, "aten.add.Tensor");
  EXPECT_FALSE(set.entries[0].info);
  EXPECT_THAT(set.skipped, IsEmpty());
  expect_all_accounted(set);
}

TEST(TorchairFx, OlderLayoutsNameTheTokenPlusOne) {
  for (std::string_view root : {"msprobe/ge_fx_710/golden", "msprobe/ge_fx_710/golden/data_dump"}) {
    const DumpSet set = open(sample(root));
    EXPECT_EQ(set.convention, "torchair-fx");
    EXPECT_EQ(lines_of(set),
              with_prefix("step 0 ", kFxTensors) + with_prefix("step 1 ", kFxTensors));
    EXPECT_THAT(set.entries[0].parts[0].file.str(), testing::HasSubstr("1/gm_"));
    expect_all_accounted(set);
  }
  const DumpSet old = open(sample("msprobe/ge_fx_old/golden/data_dump"));
  EXPECT_EQ(old.entries.size(), 33u);  // 3 tokens, 4 operators with 11 tensors
  EXPECT_EQ(old.entries.front().step(), 0);
  EXPECT_EQ(old.entries.back().step(), 2);
  expect_all_accounted(old);
}

TEST(TorchairFx, OldestLayoutHasNoToken) {
  Scratch dir;
  dir.npy("gm_20240125031118_dump/mm-aten.mm.default.INPUT.0.20240125031118787351.npy");
  EXPECT_THAT(lines_of(open(dir.root())), ElementsAre("step 0 mm-aten.mm.default input:0"));
  EXPECT_THAT(lines_of(open(dir.root() / "gm_20240125031118_dump")),
              ElementsAre("step 0 mm-aten.mm.default input:0"));
}

TEST(TorchairFx, SeveralGraphsAreNamed) {
  const DumpSet set = open(sample("msprobe/two_graphs/golden"));
  EXPECT_EQ(lines_of(set),
            with_prefix("rank 0 step 0 [gm_20250601120000000001_dump] ", kFxTensors) +
                with_prefix("rank 0 step 0 [gm_20250601120000000002_dump] ", kFxTensors));
}

TEST(TorchairFx, SlotsInNumericalOrder) {
  const DumpSet set = open(sample("msprobe/many_inputs/golden"));
  ASSERT_EQ(set.entries.size(), 13u);
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(set.entries[size_t(i)].slot, (Slot{SlotKind::kInput, i, ""}));
  Scratch dir;
  for (std::string_view slot : {"0.10", "0.9", "0.2", "10", "2", "1"})
    dir.npy(fmt::format("0/cat-aten.cat.default.INPUT.{}.20240125031118787351.npy", slot));
  EXPECT_THAT(
      lines_of(open(dir.root())),
      ElementsAre("step 0 cat-aten.cat.default input:0.2", "step 0 cat-aten.cat.default input:0.9",
                  "step 0 cat-aten.cat.default input:0.10", "step 0 cat-aten.cat.default input:1",
                  "step 0 cat-aten.cat.default input:2", "step 0 cat-aten.cat.default input:10"));
}

TEST(TorchairFx, ReducedFilesAreStatistics) {
  const DumpSet set = open(sample("msprobe/reduced_min_max/golden"));
  EXPECT_EQ(set.convention, "torchair-fx");
  EXPECT_EQ(lines_of(set),
            with_prefix("rank 0 step 0 ", kFxTensors) + with_prefix("rank 0 step 1 ", kFxTensors));
  const Entry& relu = find(set, "rank 0 step 1 relu_2-aten.relu.default output:0");
  EXPECT_TRUE(relu.parts.empty());
  ASSERT_TRUE(relu.statistics);
  EXPECT_EQ(relu.statistics->min, 0.0);
  EXPECT_FLOAT_EQ(static_cast<float>(*relu.statistics->max), 3.6624122f);
  EXPECT_FALSE(relu.statistics->mean);
  EXPECT_THAT(relu.record.str(), testing::EndsWith("/relu_2-aten.relu.default.OUTPUT.0."
                                                   "20250601120000000001_min_max.npy"));
  EXPECT_EQ(elements_of(set, relu), "error: only statistics of this tensor were recorded");
  expect_all_accounted(set);
}

TEST(TorchairFx, DamagedAndForeignFiles) {
  Scratch dir;
  dir.npy("0/mm-aten.mm.default.INPUT.0.20240125031118787351.npy");
  dir.write("0/mm-aten.mm.default.INPUT.1.20240125031118787351.npy", "");
  dir.npy("0/mm-aten.mm.default.INPUT.2.20240125031118787351_min_max.npy", {1, 2, 3});
  dir.npy("0/mm-aten.mm.default.INPUT.3.20240125031118787351_min_max.npy", {});
  dir.npy("0/stray.npy");
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("step 0 mm-aten.mm.default input:0",
                                         "step 0 mm-aten.mm.default input:3", "0/stray output:0"));
  EXPECT_FALSE(set.entries[1].statistics->min);  // an empty tensor has none
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("!0/mm-aten.mm.default.INPUT.1.20240125031118787351.npy: the file is empty",
                  "!0/mm-aten.mm.default.INPUT.2.20240125031118787351_min_max.npy: not a [min, "
                  "max] pair"));
  expect_all_accounted(set);
}

}  // namespace
}  // namespace plumb::dump
