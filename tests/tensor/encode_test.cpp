// SPDX-License-Identifier: Apache-2.0
#include "tensor/encode.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tensor/decode.h"

namespace plumb {
namespace {

// Every half is itself; between two neighbours the nearer wins, the middle goes to the even one.
TEST(Encode, HalfRoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x7C00; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const float low = float_from_half(half);
    ASSERT_EQ(half_from_float(low), half);
    ASSERT_EQ(half_from_float(-low), half | 0x8000);
    if (code == 0x7BFF) continue;
    const float high = float_from_half(static_cast<uint16_t>(code + 1));
    const float middle = low + (high - low) / 2;  // exact: one more bit
    ASSERT_EQ(half_from_float(std::nextafterf(middle, low)), half);
    ASSERT_EQ(half_from_float(std::nextafterf(middle, high)), half + 1);
    ASSERT_EQ(half_from_float(middle), code % 2 == 0 ? half : half + 1);
  }
  EXPECT_EQ(half_from_float(65519.99f), 0x7BFF);
  EXPECT_EQ(half_from_float(65520.0f), 0x7C00);
  EXPECT_EQ(half_from_float(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_TRUE(std::isnan(float_from_half(half_from_float(std::nanf("")))));
}

TEST(Encode, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(bfloat16_from_float(1.0f), 0x3F80);
  EXPECT_EQ(bfloat16_from_float(1.00390625f), 0x3F80);  // middle, even below
  EXPECT_EQ(bfloat16_from_float(std::nextafterf(1.00390625f, 2.0f)), 0x3F81);
  EXPECT_EQ(bfloat16_from_float(1.01171875f), 0x3F82);  // middle, even above
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_from_bfloat16(bfloat16_from_float(std::nanf("")))));
}

}  // namespace
}  // namespace plumb
