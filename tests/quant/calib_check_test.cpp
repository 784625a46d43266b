// SPDX-License-Identifier: Apache-2.0
#include "quant/calib_check.h"

#include <bit>

#include <gtest/gtest.h>

namespace plumb::quant {
namespace {

// Every half, one after the other.
double width_by_trying(const std::vector<Range>& ranges) {
  double sum = 0, halves = 0;
  for (unsigned chosen = 0; chosen < 1u << ranges.size(); ++chosen) {
    if (static_cast<size_t>(std::popcount(chosen)) != ranges.size() / 2) continue;
    Range all{1e9, -1e9};
    for (size_t i = 0; i < ranges.size(); ++i)
      if (chosen >> i & 1) all = {std::min(all.lo, ranges[i].lo), std::max(all.hi, ranges[i].hi)};
    sum += all.hi - all.lo;
    ++halves;
  }
  return sum / halves;
}

TEST(CalibCheck, HalvesOnAverage) {
  std::vector<Range> ranges{{-1, 4}, {-7, 2}};
  for (const Range& more : {Range{-3, 8}, Range{0, 4}, Range{-3, 1}, Range{-2, 16}, Range{-5, 5}}) {
    EXPECT_NEAR(width_of_half(ranges), width_by_trying(ranges), 1e-12) << ranges.size();
    ranges.push_back(more);
  }
  // Of one sample there is no half.
  EXPECT_EQ(width_of_half({{-1, 4}}), 0);
}

}  // namespace
}  // namespace plumb::quant
