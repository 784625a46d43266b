// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

constexpr int64_t kHugeExtent = INT64_MAX;

TEST(Shape, ElementCount) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({0}), 0);
  EXPECT_EQ(element_count({2, 3, 5}), 30);
  EXPECT_EQ(element_count({kHugeExtent}), kHugeExtent);
  EXPECT_EQ(element_count({kHugeExtent, 1, 1}), kHugeExtent);
  EXPECT_EQ(element_count({kHugeExtent, 0}), 0);
  EXPECT_EQ(element_count({kHugeExtent, 2}), std::nullopt);
  EXPECT_EQ(element_count({kHugeExtent, 2, 0}), std::nullopt);  // empty, but absurd all the same
  EXPECT_EQ(element_count({0, kHugeExtent, kHugeExtent}), std::nullopt);
  EXPECT_EQ(element_count({int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(element_count({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  EXPECT_EQ(element_count({-1}), std::nullopt);
  EXPECT_EQ(element_count({-1, 0}), std::nullopt);
  EXPECT_EQ(element_count({INT64_MIN, -1}), std::nullopt);
}

TEST(Shape, Squeezed) {
  EXPECT_EQ(squeezed({}), Shape{});
  EXPECT_EQ(squeezed({1, 1}), Shape{});
  EXPECT_EQ(squeezed({1, 0, 1, 3}), (Shape{0, 3}));
}

TEST(Shape, Text) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{1, 64, 112}), "[1, 64, 112]");
  EXPECT_EQ(join(Shape{1, 64, 112}, "x"), "1x64x112");
}

TEST(Shape, FromText) {
  EXPECT_EQ(shape_from_text(""), Shape{});
  EXPECT_EQ(shape_from_text("scalar"), Shape{});
  EXPECT_EQ(shape_from_text("7"), Shape{7});
  EXPECT_EQ(shape_from_text("0"), Shape{0});
  EXPECT_EQ(shape_from_text("1,3,224,224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(shape_from_text("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(shape_from_text("9223372036854775807"), Shape{kHugeExtent});
  for (std::string_view bad : {",", "1,", ",1", "1,,2", "-1", "1,-2", "1 2", "a", "1x", "0x",
                               "9223372036854775808", "1.5", "scalarx", " 1"})
    EXPECT_EQ(shape_from_text(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace plumb
