// SPDX-License-Identifier: Apache-2.0
#include "base/number_from_text.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(NumberFromText, WholeTextOrNothing) {
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e2", "0x1", "one", "--1", "1,5"})
    EXPECT_EQ(number_from_text<int64_t>(text), std::nullopt) << "'" << text << "'";
  EXPECT_EQ(number_from_text<int64_t>("-12"), -12);
  EXPECT_EQ(number_from_text<int64_t>("007"), 7);
  for (const char* text : {"", ".", "1,5", "1.5x", "+1", "1e", "0x1p3"})
    EXPECT_EQ(number_from_text<double>(text), std::nullopt) << "'" << text << "'";
  EXPECT_EQ(number_from_text<double>("-.5e1"), -5.0);
  EXPECT_EQ(number_from_text<float>("0.1"), 0.1F);
}

TEST(NumberFromText, WhatTheTypeCannotHold) {
  EXPECT_EQ(number_from_text<uint8_t>("255"), 255);
  EXPECT_EQ(number_from_text<uint8_t>("256"), std::nullopt);
  EXPECT_EQ(number_from_text<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(number_from_text<int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(number_from_text<float>("1e39"), std::nullopt);
  EXPECT_EQ(number_from_text<double>("1e39"), 1e39);
}

TEST(NumberFromText, OtherBases) {
  EXPECT_EQ(number_from_text<uint32_t>("fFff0000", 16), 0xFFFF0000U);
  EXPECT_EQ(number_from_text<uint32_t>("0644", 8), 0644U);
  EXPECT_EQ(number_from_text<uint32_t>("8", 8), std::nullopt);
}

}  // namespace
}  // namespace plumb
