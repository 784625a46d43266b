// SPDX-License-Identifier: Apache-2.0
#include "compare/same_elements.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

std::vector<double> numbers(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(1.7 * static_cast<double>(i * i)));
  return values;
}

// Of [a, b, c]: golden's axes in the order 0, 2, 1.
std::vector<double> exchanged(const std::vector<double>& golden, size_t a, size_t b, size_t c) {
  std::vector<double> target(golden.size());
  for (size_t i = 0; i < a; ++i)
    for (size_t j = 0; j < b; ++j)
      for (size_t k = 0; k < c; ++k) target[(i * c + k) * b + j] = golden[(i * b + j) * c + k];
  return target;
}

std::string told(const std::vector<double>& target, const Shape& ts,
                 const std::vector<double>& golden, const Shape& gs) {
  const auto same = same_elements(target, ts, golden, gs);
  return same ? std::string(same->reason) + ": " + same->message : "";
}

TEST(SameElements, AxesInAnotherOrder) {
  const auto golden = numbers(2 * 3 * 5);
  const auto target = exchanged(golden, 2, 3, 5);
  EXPECT_EQ(told(target, {2, 5, 3}, golden, {2, 3, 5}),
            "transposed: the same elements with golden's axes in the order 0,2,1");
  EXPECT_EQ(told(target, {1, 2, 5, 3}, golden, {1, 2, 3, 5}),
            "transposed: the same elements with golden's axes in the order 0,1,3,2");
}

TEST(SameElements, OtherValuesAreOthers) {
  const auto golden = numbers(2 * 3 * 5);
  auto target = exchanged(golden, 2, 3, 5);
  target[7] = -target[7];
  EXPECT_EQ(told(target, {2, 5, 3}, golden, {2, 3, 5}), "");
  EXPECT_EQ(told(golden, {2, 5, 3}, target, {2, 3, 5}), "");
  target[7] = NAN;
  EXPECT_EQ(told(target, {2, 5, 3}, golden, {2, 3, 5}), "");
}

TEST(SameElements, FlatAndPadded) {
  const auto golden = numbers(6);
  EXPECT_EQ(told(golden, {6}, golden, {2, 3}), "flattened: the same elements in the same order");
  const std::vector<double> wide{golden[0], golden[1], golden[2], 0,
                                 golden[3], golden[4], golden[5], 0};
  EXPECT_EQ(told(wide, {2, 4}, golden, {2, 3}),
            "padded: the target holds golden as a block, and zeros around it");
  EXPECT_EQ(told(golden, {2, 3}, wide, {2, 4}),
            "padded: golden holds the target as a block, and zeros around it");
  auto dirty = wide;
  dirty[3] = 1;
  EXPECT_EQ(told(dirty, {2, 4}, golden, {2, 3}), "");
}

// In any order it is the same: that says nothing.
TEST(SameElements, ConstantsAndNothing) {
  const std::vector<double> ones(6, 1.0), none;
  EXPECT_EQ(told(ones, {3, 2}, ones, {2, 3}), "");
  EXPECT_EQ(told(none, {0, 2}, none, {2, 0}), "");
}

}  // namespace
}  // namespace plumb::compare
