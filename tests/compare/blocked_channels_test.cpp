// SPDX-License-Identifier: Apache-2.0
//
// Tensors whose channels lie in blocks, against plain ones: where the first shape was not recorded,
// the other side tells it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/memory.h"
#include "plumb/session.h"

namespace plumb {
namespace {

using testing::ElementsAre;

constexpr int64_t kChannels = 5, kBlock = 4, kPixels = 6;  // two rows of three

std::vector<float> plain() {
  std::vector<float> values;
  for (int i = 0; i < kChannels * kPixels; ++i)
    values.push_back(0.37F * static_cast<float>(i) - 3.1F);
  return values;
}

// Written from the definition: blocks, pixels, channels of a block. What pads is garbage.
std::vector<float> blocked(const std::vector<float>& values) {
  std::vector<float> stored(2 * kPixels * kBlock, 99.0F);
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t p = 0; p < kPixels; ++p)
      stored[static_cast<size_t>((c / kBlock * kPixels + p) * kBlock + c % kBlock)] =
          values[static_cast<size_t>(c * kPixels + p)];
  return stored;
}

std::shared_ptr<const dump::DumpSet> dump_of(const std::vector<float>& values, Shape shape) {
  dump::MemoryTensor tensor{
      .op = "conv", .shape = std::move(shape), .bytes = std::as_bytes(std::span(values))};
  if (tensor.shape.size() == 5) tensor.layout = *layout_from_name("NC1HWC0");
  auto set = dump::dump_of_tensors({std::move(tensor)});
  EXPECT_TRUE(set.ok());
  return std::make_shared<const dump::DumpSet>(std::move(*set));
}

result::Row compared(std::shared_ptr<const dump::DumpSet> target,
                     std::shared_ptr<const dump::DumpSet> golden) {
  Spec spec;
  spec.target.dump = std::move(target);
  spec.golden.dump = std::move(golden);
  RunContext context;
  auto session = Session::open(std::move(spec), context);
  EXPECT_TRUE(session.ok());
  auto run = compare_all(*session, context);
  EXPECT_TRUE(run.ok());
  return run->rows.at(0);
}

TEST(BlockedChannels, AreReadInTheOrderOfTheOtherSide) {
  const std::vector<float> values = plain(), stored = blocked(values);
  const auto in_blocks = dump_of(stored, {1, 2, 2, 3, kBlock});
  const auto in_order = dump_of(values, {1, kChannels, 2, 3});
  for (const auto& row : {compared(in_blocks, in_order), compared(in_order, in_blocks)}) {
    EXPECT_EQ(row.verdict, result::Verdict::kPass) << row.message;
    EXPECT_FALSE(row.suspicious);
    EXPECT_EQ(row.target->shape, row.golden->shape);
  }
  EXPECT_EQ(compared(in_blocks, in_order).target->layout, "NC1HWC0");
}

TEST(BlockedChannels, OneWrongValueIsFound) {
  std::vector<float> values = plain();
  const std::vector<float> golden = values;
  values[static_cast<size_t>(4 * kPixels + 2)] = 50;  // in the last block
  const std::vector<float> stored = blocked(values);
  EXPECT_EQ(compared(dump_of(stored, {1, 2, 2, 3, kBlock}), dump_of(golden, {1, 5, 2, 3})).verdict,
            result::Verdict::kFail);
}

TEST(BlockedChannels, AnotherNumberOfBlocksIsADifference) {
  const std::vector<float> stored = blocked(plain());
  for (const int64_t channels : {4, 9}) {
    const std::vector<float> golden(static_cast<size_t>(channels * kPixels), 1.0F);
    const auto row =
        compared(dump_of(stored, {1, 2, 2, 3, kBlock}), dump_of(golden, {1, channels, 2, 3}));
    EXPECT_EQ(row.verdict, result::Verdict::kFail);
    EXPECT_THAT(row.reasons, ElementsAre("size_mismatch"));
  }
}

}  // namespace
}  // namespace plumb
