// SPDX-License-Identifier: Apache-2.0
#include "result/value_text.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace plumb::result {
namespace {

using metrics::Metric;
using metrics::Print;
using metrics::Value;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Metric printed(Print print) {
  Metric metric{"", ""};
  metric.print = print;
  return metric;
}
const Metric kNumber = printed(Print::kNumber), kCount = printed(Print::kCount),
             kHex = printed(Print::kHex);

TEST(ValueText, ExactNumbers) {
  const struct {
    const Metric& metric;
    double number;
    const char* expected;
  } kCases[] = {
      {kNumber, 0, "0"},
      {kNumber, -0.0, "-0"},
      {kNumber, 0.1, "0.1"},
      {kNumber, 1.0 / 3, "0.3333333333333333"},
      {kNumber, 5e-324, "5e-324"},
      {kNumber, kNan, "nan"},
      {kNumber, -kNan, "nan"},
      {kNumber, kInf, "inf"},
      {kNumber, -kInf, "-inf"},
      {kCount, 12345678901234, "12345678901234"},
      {kCount, 0.5, "0.5"},
      {kCount, kInf, "inf"},
      {kHex, 0, "00000000"},
      {kHex, 0xdeadbeef, "deadbeef"},
      {kHex, -1, "-1"},
      {kHex, kNan, "nan"},
  };
  for (const auto& c : kCases) EXPECT_EQ(exact_text(c.metric, c.number), c.expected);
}

// What is written reads back to the same double.
TEST(ValueText, ExactNumbersRoundTrip) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    EXPECT_EQ(std::strtod(exact_text(kNumber, number).c_str(), nullptr), number);
  }
}

TEST(ValueText, Undefined) {
  EXPECT_EQ(undefined_text(Value::undefined("golden is all zeros")), "golden is all zeros");
  EXPECT_TRUE(undefined_text(Value::at_most(0.0123)).starts_with("at most 0.0123: "));
}

}  // namespace
}  // namespace plumb::result
