// SPDX-License-Identifier: Apache-2.0
#include "base/shortest.h"

#include <bit>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace plumb {
namespace {

std::string shortest(double number) {
  char digits[kShortestRoom];
  return std::string(+digits, write_shortest(digits, number));
}

TEST(Shortest, OddNumbers) {
  const struct {
    double number;
    const char* expected;
  } kCases[] = {
      {0, "0"},
      {-0.0, "-0"},
      {1, "1"},
      {-1.5, "-1.5"},
      {0.0001, "0.0001"},
      {0.00012345678901234567, "0.00012345678901234567"},
      {0.00001, "1e-05"},
      {1234567890123456, "1234567890123456"},
      {1e15, "1000000000000000"},
      {1e16, "1e+16"},
      {1e22, "1e+22"},
      {123456789012345.67, "123456789012345.67"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {-2.2250738585072014e-308, "-2.2250738585072014e-308"},
  };
  for (const auto& c : kCases) EXPECT_EQ(shortest(c.number), c.expected);
}

// Of every size, with few digits and with many.
TEST(Shortest, IsWhatFmtPrints) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t bits = random();
    const double few = static_cast<double>(bits % 100'000) / std::pow(10, bits % 9);
    const double many = std::ldexp(static_cast<double>(bits >> 11), static_cast<int>(i % 120) - 90);
    for (const double number : {few, -few, many, std::bit_cast<double>(bits)})
      if (std::isfinite(number)) {
        ASSERT_EQ(shortest(number), fmt::format("{}", number));
      }
  }
}

}  // namespace
}  // namespace plumb
