// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/decimal.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sample_of.h"

namespace plumb::msaccucmp {
namespace {

std::string ours(double value) {
  char text[kMostDecimalChars];
  return {text, append_decimal(value, text)};
}

std::string theirs(double value) {
  char text[kMostDecimalChars];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, "%.6f", value))};
}

TEST(Decimal, AsTheCLibraryWritesThem) {
  const double limits[] = {0.0,
                           -0.0,
                           1.0,
                           5e-7,
                           1.5e-6,
                           -5e-7,
                           0.9999995,
                           1e-300,
                           5e-324,
                           1e300,
                           65504.0,
                           0x1p-20,
                           0x1p-21,
                           0x3p-21,
                           0x1p63,
                           0x1p-64,
                           0x1p44,
                           0x1p43,
                           1e15,
                           0.1,
                           1.0 / 3,
                           std::numeric_limits<double>::max(),
                           std::numeric_limits<float>::min(),
                           std::numeric_limits<float>::denorm_min()};
  for (double value : limits) {
    EXPECT_EQ(ours(value), theirs(value));
    EXPECT_EQ(ours(-value), theirs(-value));
  }
  // Halves of a millionth, where ties go to even, and what is next to them.
  for (int i = -40; i <= 40; ++i)
    for (int power = 1; power < 70; ++power) {
      const double tie = std::ldexp(i, -power);
      for (double value : {tie, std::nextafter(tie, 1e9), std::nextafter(tie, -1e9),
                           double(std::nextafter(float(tie), 1e9f))})
        ASSERT_EQ(ours(value), theirs(value)) << value;
    }
  std::mt19937_64 engine(5);
  const int count = is_long_run() ? 200000 : sample_of(20000, 10);
  for (int i = 0; i < count; ++i) {
    const uint64_t random = engine();
    const double values[] = {std::bit_cast<double>(random),
                             double(std::bit_cast<float>(uint32_t(random))),
                             std::ldexp(double(int32_t(random)), -int(random >> 58))};
    for (double value : values) {
      if (!std::isfinite(value)) continue;
      ASSERT_EQ(ours(value), theirs(value)) << value;
    }
  }
}

}  // namespace
}  // namespace plumb::msaccucmp
