// SPDX-License-Identifier: Apache-2.0
#include "pair/align_operands.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;
struct AlignCase {
  const char* what;
  std::vector<int64_t> target, golden;
  Pairs pairs;
};

const AlignCase kAligned[] = {
    {"equal", {4, 8}, {4, 8}, {{0, 0}, {1, 1}}},
    {"nothing", {}, {4}, {}},
    {"an argument more in golden", {24}, {24, 1}, {{0, 0}}},
    {"an argument more in front", {24, 6}, {1, 24, 6}, {{0, 1}, {1, 2}}},
    {"swapped: one of two equal ways", {4, 8}, {8, 4}, {{1, 0}}},
    {"another size", {24}, {18}, {{0, 0}}},
    {"another size in the middle", {4, 24, 8}, {4, 18, 8}, {{0, 0}, {1, 1}, {2, 2}}},
    {"the nearer of two", {7}, {3, 7, 7}, {{0, 1}}},
    {"text is no tensor", {24, 6}, {kNoTensor, 24, 6}, {{0, 1}, {1, 2}}},
    {"text at the same place", {24}, {kNoTensor}, {}},
    {"unknown sizes pair by position", {kUnknownCount, 4}, {9, kUnknownCount}, {{0, 0}, {1, 1}}},
};

TEST(AlignOperands, KeepsOrderAndSizes) {
  for (const AlignCase& c : kAligned) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(align_operands(c.target, c.golden), c.pairs);
  }
}

}  // namespace
}  // namespace plumb::pair
