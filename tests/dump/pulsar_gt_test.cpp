// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;

void write_gt(const Scratch& dir, const std::string& base) {
  for (std::string_view name : {"input/data", "onnx/prob", "joint/prob"}) {
    dir.npy(fmt::format("{}{}.npy", base, name));
    dir.write(fmt::format("{}{}.bin", base, name), std::string(12, 'x'));
  }
  dir.write(base + "input/filename.txt", "cat.jpg\n");
}

TEST(PulsarGt, ResultSetsAreGraphs) {
  Scratch dir;
  write_gt(dir, "");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "pulsar-gt");
  EXPECT_THAT(lines_of(set),
              ElementsAre("data input:0", "[joint] prob output:0", "[onnx] prob output:0"));
  EXPECT_THAT(skipped_of(set),
              ElementsAre("input/data.bin: same data as the npy file of that name",
                          "input/filename.txt: names of the input files",
                          "joint/prob.bin: same data as the npy file of that name",
                          "onnx/prob.bin: same data as the npy file of that name"));
  EXPECT_EQ(elements_of(set, set.entries[1]), "float32 [3]: 1 2 3");
  expect_all_accounted(set);
  Scratch outer;
  write_gt(outer, "gt/");
  EXPECT_EQ(lines_of(open(outer.root())), lines_of(set));
  // One result set alone is a plain directory.
  const DumpSet onnx = open(dir.root() / "onnx");
  EXPECT_EQ(onnx.convention, "plain");
  EXPECT_THAT(lines_of(onnx), ElementsAre("prob output:0"));
  expect_all_accounted(onnx);
}

TEST(PulsarGt, RawDataNeedsADescription) {
  Scratch dir;
  write_gt(dir, "");
  std::filesystem::remove(dir.root() / "joint/prob.npy");
  EXPECT_THAT(skipped_of(open(dir.root())),
              testing::Contains("!joint/prob.bin: raw data says nothing about itself"));
  io::ReadHints hints;
  hints.dtype = DType::kFloat32;
  const DumpSet set = open(dir.root(), hints);
  EXPECT_THAT(lines_of(set),
              ElementsAre("data input:0", "[joint] prob output:0", "[onnx] prob output:0"));
  EXPECT_THAT(elements_of(set, set.entries[1], hints), testing::StartsWith("float32 [3]: "));
  expect_all_accounted(set);
}

TEST(PulsarGt, CasesOfAList) {
  Scratch dir;
  for (std::string_view name : {"0", "1"})
    for (std::string_view side : {"input/{}/image.bin", "output/{}/prob.bin"})
      dir.write(fmt::format(fmt::runtime(side), name), std::string(8, '\0'));
  dir.write("list.txt", "0\n1\n");
  io::ReadHints hints;
  hints.dtype = DType::kFloat32;
  const DumpSet set = open(dir.root(), hints);
  EXPECT_EQ(set.convention, "pulsar-gt");
  EXPECT_THAT(lines_of(set), ElementsAre("step 0 image input:0", "step 0 prob output:0",
                                         "step 1 image input:0", "step 1 prob output:0"));
  EXPECT_THAT(skipped_of(set), ElementsAre("list.txt: list of cases"));
  expect_all_accounted(set);
  Scratch named;
  named.write("output/cat/prob.bin", std::string(8, '\0'));
  named.write("output/dog/prob.bin", std::string(8, '\0'));
  named.write("list.txt", "cat\ndog\n");
  EXPECT_THAT(lines_of(open(named.root(), hints)),
              ElementsAre("[cat] prob output:0", "[dog] prob output:0"));
}

// The one-click tool of another vendor also has a folder called onnx.
TEST(PulsarGt, DoesNotClaimNamedGoldenFiles) {
  Scratch dir;
  dir.npy("dump_data/onnx/conv.0.1700000000000001.npy");
  dir.npy("dump_data/input/data.0.1700000000000001.npy");
  EXPECT_EQ(open(dir.root()).convention, "named-npy");
}

}  // namespace
}  // namespace plumb::dump
