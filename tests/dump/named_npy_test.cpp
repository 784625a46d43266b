// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NamedNpy, RealGoldenDirectory) {
  const DumpSet set = open(sample("msaccucmp/02-fusion-relations/golden"));
  EXPECT_EQ(set.convention, "named-npy");
  EXPECT_THAT(lines_of(set),
              ElementsAre("a output:0", "b output:0", "c output:0", "d output:0", "e output:0",
                          "f output:0", "g output:0", "h output:0", "i output:0", "j output:0"));
  EXPECT_THAT(set.skipped, IsEmpty());
  EXPECT_EQ(set.entries[0].timestamp, 1700000000000001);
  EXPECT_FALSE(set.entries[0].info);  // one tensor to a file: nothing was opened
  expect_all_accounted(set);
}

TEST(NamedNpy, EveryFormOfName) {
  Scratch dir;
  dir.npy("relu1.0.1700000000000005.npy");
  dir.npy("conv.1.0.1700000000000004.npy");      // a dot in the operator's name
  dir.npy("tf_op.1.1700000000000003.7.npy");     // TensorFlow's count
  dir.npy("input_data.0.1700000000000001.npy");  // an ONNX model input
  dir.npy("input_1.0.1700000000000002.npy");     // a Keras operator
  dir.npy("1700000000000009.npy");               // hashed
  dir.npy("17.npy");                             // hashed, not in the mapping
  dir.write("mapping.csv", "1700000000000009.npy,a_very_long_name.2.1700000000000006.npy\n");
  dir.write("empty.0.1700000000000001.npy", "");
  dir.write("dump.json", R"({"schema": "another"})");
  dir.write("model.onnx", "x");
  dir.npy("other.npy");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "named-npy");
  EXPECT_THAT(
      lines_of(set),
      ElementsAre("data input:0", "input_1 output:0", "tf_op output:1", "conv.1 output:0",
                  "relu1 output:0", "a_very_long_name output:2", "17 output:0", "other output:0"));
  EXPECT_THAT(
      skipped_of(set),
      ElementsAre("dump.json: index of a dump", "!empty.0.1700000000000001.npy: the file is empty",
                  "mapping.csv: real names of renamed files", "model.onnx: model, not a tensor"));
  EXPECT_THAT(set.warnings, ElementsAre("1 file is named by a number whose real name is not in "
                                        "mapping.csv: listed by path"));
  EXPECT_EQ(elements_of(set, find(set, "a_very_long_name output:2")), "float32 [3]: 1 2 3");
  expect_all_accounted(set);
}

TEST(NamedNpy, StepsAndSetsBelowTheDirectoryGiven) {
  Scratch dir;
  dir.npy("0/a.0.1700000000000001.npy");
  dir.npy("1/a.0.1700000000000011.npy");
  EXPECT_THAT(lines_of(open(dir.root())), ElementsAre("step 0 a output:0", "step 1 a output:0"));
  Scratch sets;
  sets.npy("before/a.0.1700000000000001.npy");
  sets.npy("after/a.0.1700000000000011.npy");
  EXPECT_THAT(lines_of(open(sets.root())),
              ElementsAre("[after] a output:0", "[before] a output:0"));
  EXPECT_THAT(lines_of(open(sets.root() / "after")), ElementsAre("a output:0"));
}

// Files of one operator are written one after the other, but belong to one execution.
TEST(NamedNpy, OperatorsInOrderOfExecution) {
  Scratch dir;
  dir.npy("b.0.1700000000000001.npy");
  dir.npy("b.1.1700000000000004.npy");
  dir.npy("a.0.1700000000000003.npy");
  dir.npy("a.0.1700000000000009.npy");  // again: the newest last
  const DumpSet set = open(dir.root());
  EXPECT_THAT(lines_of(set), ElementsAre("b output:0", "b output:1", "a output:0", "a output:0"));
  EXPECT_EQ(set.entries[1].timestamp, 1700000000000001);
  EXPECT_EQ(set.entries[3].parts[0].file, "a.0.1700000000000009.npy");
}

}  // namespace
}  // namespace plumb::dump
