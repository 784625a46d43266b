// SPDX-License-Identifier: Apache-2.0
#include "tensor/statistics.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plumb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Statistics, NonFiniteValuesShowInWhatIsRecorded) {
  FullStatistics s;
  s.dtype = "float32";
  s.shape = {4};
  s.count = 4;
  s.min = -1;
  s.max = 2;
  s.mean = 0.5;
  s.l2 = 3;
  EXPECT_EQ(recorded_from(s).min, -1);
  EXPECT_EQ(recorded_from(s).dtype, "float32");
  EXPECT_EQ(recorded_from(s).shape, Shape{4});
  EXPECT_EQ(recorded_from(s).checksum, "");
  s.crc32 = 0xbeef;
  EXPECT_EQ(recorded_from(s).checksum, "0000beef");
  s.positive_inf = 1;
  EXPECT_EQ(recorded_from(s).min, -1);
  EXPECT_EQ(recorded_from(s).max, kInf);
  EXPECT_EQ(recorded_from(s).mean, kInf);
  s.negative_inf = 1;
  EXPECT_TRUE(std::isnan(*recorded_from(s).mean));
  s.nan = 1;
  EXPECT_TRUE(std::isnan(*recorded_from(s).max));
  EXPECT_EQ(recorded_from(s).inf_count, 2);
  EXPECT_EQ(s, s);
}

TEST(Statistics, NothingIsRecordedOfNothing) {
  FullStatistics s;
  s.dtype = "float32";
  s.shape = {0};
  EXPECT_FALSE(recorded_from(s).min);
  EXPECT_EQ(recorded_from(s).zeros, 0);
  s.dtype = "opaque";
  s.count = 3;
  EXPECT_FALSE(recorded_from(s).max);
}

}  // namespace
}  // namespace plumb
