// SPDX-License-Identifier: Apache-2.0
#include "trees.h"

namespace plumb::dump {
namespace {

using testing::ElementsAre;

class PytorchH5 : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::filesystem::path(PLUMB_BINARY).parent_path() /
                                 "../lib/libplumb_hdf5.so"))
      GTEST_SKIP() << "built without HDF5: libhdf5 was not found";
  }
};

TEST_F(PytorchH5, CallsAreNumberedByOperator) {
  const DumpSet set = open(sample("hdf5/npu.h5"));
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

TEST_F(PytorchH5, AloneInADirectory) {
  Scratch dir;
  dir.copy("hdf5/npu.h5", "npu.h5");
  dir.write("README.md", "x");
  const DumpSet set = open(dir.root());
  EXPECT_EQ(set.convention, "pytorch-h5");
  EXPECT_EQ(set.entries.size(), 6u);
  expect_all_accounted(set);
}

}  // namespace
}  // namespace plumb::dump
