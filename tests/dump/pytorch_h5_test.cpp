// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;

TEST(PytorchH5, CallsAreNumberedByOperator) {
  const DumpSet set = open(sample("offline/npu.h5"));
  EXPECT_EQ(set.convention, "pytorch-h5");
  ASSERT_THAT(lines_of(set),
              ElementsAre("step 0 AddmmBackward input:mat1", "step 0 AddmmBackward output:result0",
                          "step 0 NpuConvolutionBackward input:input",
                          "step 0 NpuConvolutionBackward output:r", "step 0 OnlyNpu output:r",
                          "step 1 AddmmBackward output:result0"));
  EXPECT_EQ(set.entries[5].timestamp, 5);  // the order in the file
  ASSERT_TRUE(set.entries[0].info);
  EXPECT_EQ(set.entries[0].info->dtype, DType::kFloat16);
  EXPECT_EQ(set.entries[0].info->shape, (Shape{4, 5}));
  auto reader = EntryReader::open(set, set.entries[1]);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->reader().shape(), (Shape{4, 3}));
}

TEST(PytorchH5, AloneInADirectory) {
  Scratch dir;
  dir.copy("offline/npu.h5", "npu.h5");
  dir.write("README.md", "x");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "pytorch-h5");
  EXPECT_EQ(set.entries.size(), 6u);
  expect_all_accounted(set);
}

}  // namespace
}  // namespace plumb::dump
