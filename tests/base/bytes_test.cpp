// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/checked.h"
#include "base/nearest.h"
#include "plumb/result.h"

namespace plumb {
namespace {

TEST(ByteReader, ReadsInOrderAndRemembersTheFirstFailure) {
  ByteReader reader(as_bytes(std::string_view("\x01\x02\x03\x04\x05", 5)));
  EXPECT_EQ(reader.u8(), 1);
  EXPECT_EQ(reader.u16(), 0x0302);
  EXPECT_EQ(reader.left(), 2u);
  EXPECT_EQ(reader.u32(), 0u);  // two bytes are not four
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);  // and nothing is read after a failure
  EXPECT_EQ(reader.position(), 3u);
}

TEST(ByteReader, AbsurdSizesFailWithoutOverflow) {
  for (uint64_t size : {uint64_t{6}, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 2}) {
    ByteReader reader(as_bytes("hello"));
    reader.u8();
    EXPECT_TRUE(reader.take(size).empty());
    EXPECT_FALSE(reader.ok());
  }
}

TEST(Checked, OverflowIsNullopt) {
  EXPECT_EQ(checked_mul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_mul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_add(INT64_MAX, int64_t{1}), std::nullopt);
  EXPECT_EQ(checked_add(UINT64_MAX, uint64_t{1}), std::nullopt);
  EXPECT_EQ(ceil_div(7, 8), 1);
  EXPECT_EQ(ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

TEST(Nearest, FindsSlipsOfTheFingerOnly) {
  const std::vector<std::string> known{"cosine", "max_abs", "NC1HWC0"};
  EXPECT_EQ(nearest_name("cosin", known), "cosine");
  EXPECT_EQ(nearest_name("nc1hwc0", known), "NC1HWC0");
  EXPECT_EQ(nearest_name("NC1HCW0", known), "NC1HWC0");  // two letters swapped
  EXPECT_EQ(nearest_name("zebra", known), "");
  EXPECT_EQ(did_you_mean("max-abs", known), "did you mean 'max_abs'? ");
}

TEST(Error, GainsItsPlaceOnTheWayOut) {
  EXPECT_EQ((Error{"w", "byte 8", "r"}.in("a.npy").where), "a.npy, byte 8");
  EXPECT_EQ((Error{"w", "", "r"}.in("a.npy").where), "a.npy");
}

}  // namespace
}  // namespace plumb
