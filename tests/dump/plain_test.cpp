// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;

TEST(Plain, PathsAreOperators) {
  Scratch dir;
  dir.npy("b/relu10.npy");
  dir.npy("b/relu2.npy");
  dir.npy("a.v1.npy");
  dir.npy(".hidden");
  dir.npy("no_extension");
  dir.write("README.md", "# x");
  dir.write("noise.dat", "not a tensor, just some text");
  dir.write("cut.npy", "\x93NU");
  dir.write("empty.npy", "");
  dir.write("done", "");  // a mark, not a tensor
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "plain");
  EXPECT_THAT(lines_of(set), ElementsAre(".hidden output:0", "a.v1 output:0", "b/relu2 output:0",
                                         "b/relu10 output:0", "no_extension output:0"));
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("README.md: text, not a tensor", "!cut.npy: not a tensor file of a known format",
                  "done: not a tensor file", "!empty.npy: the file is empty",
                  "noise.dat: not a tensor file"));
  EXPECT_EQ(elements_of(set, set.entries[2]), "float32 [3]: 1 2 3");
  expect_all_accounted(set);
}

TEST(Plain, TheExtensionStaysWhereItTellsFilesApart) {
  Scratch dir;
  dir.npy("x.npy");
  dir.npy("x.data");
  dir.npy("y.npy");
  dir.npy("y/z.npy");
  dir.npy("w.npy");
  dir.npy("w.npy.npy");
  EXPECT_THAT(lines_of(open(dir.root())),
              ElementsAre("w output:0", "w.npy.npy output:0", "x.data output:0", "x.npy output:0",
                          "y.npy output:0", "y/z output:0"));
}

TEST(Plain, FilesOfSeveralTensors) {
  Scratch dir;
  dir.copy(
      "msprobe/reduced_min_max/target/worldsize1_global_rank0/20250601120000/0/graph_1_0/1/0/"
      "Add.Add_1.4.7.1749000000000002_min_max.npz",
      "sub/pair.npz");
  const DumpSet single = open(dir.root() / "sub/pair.npz");
  EXPECT_EQ(single.convention, "npz");
  ASSERT_THAT(lines_of(single), ElementsAre("inputs output:0", "outputs output:0"));
  ASSERT_TRUE(single.entries[0].info);
  EXPECT_EQ(single.entries[0].info->shape, (Shape{2, 2}));
  dir.npy("one.npy");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "plain");
  EXPECT_THAT(lines_of(set),
              ElementsAre("one output:0", "sub/pair/inputs output:0", "sub/pair/outputs output:0"));
  EXPECT_THAT(elements_of(set, set.entries[2]), testing::StartsWith("float32 [1, 2]: -5.9060"));
  expect_all_accounted(set);
}

TEST(Plain, SingleFiles) {
  Scratch dir;
  dir.npy("x/conv.1.npy");
  const DumpSet set = open(dir.root() / "x/conv.1.npy");
  EXPECT_EQ(set.convention, "npy");
  EXPECT_EQ(set.root, dir.root() / "x");
  EXPECT_THAT(lines_of(set), ElementsAre("conv.1 output:0"));
  EXPECT_EQ(elements_of(set, set.entries[0]), "float32 [3]: 1 2 3");
  dir.write("raw.bin", std::string(8, '\0'));
  const auto unknown = open_dump(dir.root() / "raw.bin");
  ASSERT_FALSE(unknown);
  io::ReadHints hints;
  hints.dtype = DType::kFloat32;
  const DumpSet raw = open(dir.root() / "raw.bin", hints);
  EXPECT_EQ(raw.convention, "raw");
  EXPECT_EQ(elements_of(raw, raw.entries[0], hints), "float32 [2]: 0 0");
  EXPECT_FALSE(open_dump(dir.root() / "x/gone.npy"));
}

}  // namespace
}  // namespace plumb::dump
