// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

#include "report/sample_runs.h"

namespace plumb::report {
namespace {

const Metric kNumber{"cosine", ""};
const Metric kCount{"target_nan", "", Better::kNeither, Print::kCount};

TEST(Text, Printable) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", ""},
      {"conv1/relu", "conv1/relu"},
      {"卷积", "卷积"},
      {"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
      {std::string(1, '\0'), "\\x00"},
      {"\xc2\x9b", "\\xc2\\x9b"},  // the second set of control characters
      {"\xe2\x80\xae"
       "exe",
       "\\xe2\\x80\\xae"
       "exe"},  // written from right to left
      {"\xff", "\\xff"},
      {"\xc3", "\\xc3"},                             // cut short
      {"\xc0\x80", "\\xc0\\x80"},                    // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond the last character
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(printable(text), expected);
}

TEST(Text, Width) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("a…b"), 3U);
  EXPECT_EQ(display_width("卷积a"), 5U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(starting("卷积a", 3), "卷");  // half a character is none
  EXPECT_EQ(ending("a卷积", 3), "积");
  EXPECT_EQ(ending("ab\x80\x80\x80\x80", 3), "\x80\x80\x80");
  EXPECT_EQ(starting("abc", 9), "abc");
  EXPECT_EQ(ending("abc", 9), "abc");
}

TEST(Text, RoundedNumbers) {
  EXPECT_EQ(rounded_text(kNumber, Value::of(0.123456789)), "0.123457");
  EXPECT_EQ(rounded_text(kNumber, Value::of(1)), "1");
  EXPECT_EQ(rounded_text(kNumber, Value::of(1 - 4e-8)), "0.99999996");
  EXPECT_EQ(rounded_text(kNumber, Value::of(1 - 0x1p-53)), "0.9999999999999999");
  EXPECT_EQ(rounded_text(kNumber, Value::of(1 + 0x1p-52)), "1.0000000000000002");
  EXPECT_EQ(rounded_text(kNumber, Value::of(kInf)), "inf");
  EXPECT_EQ(rounded_text(kNumber, Value::at_most(0.0123456)), "<=0.0123");
  EXPECT_EQ(rounded_text(kNumber, Value::undefined("empty")), "-");
  EXPECT_EQ(rounded_text(kCount, Value::of(1234567)), "1234567");
}

TEST(Text, Place) {
  Row row = alone("conv1", true, "no_golden");
  EXPECT_EQ(place_text(row), "conv1 output:0");
  row.step = 3;
  EXPECT_EQ(place_text(row), "conv1 output:0 [step 3]");
  row.rank = 1;
  EXPECT_EQ(place_text(row), "conv1 output:0 [step 3, rank 1]");
  row.step.reset();
  EXPECT_EQ(place_text(row), "conv1 output:0 [rank 1]");
}

}  // namespace
}  // namespace plumb::report
