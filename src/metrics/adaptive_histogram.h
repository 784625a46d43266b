// SPDX-License-Identifier: Apache-2.0
//
// Counts of two sides in common equal bins whose range need not be known before: bins are a power
// of two wide and begin at a multiple of that, and twice as wide as soon as 64 of them do not
// reach. Which values come first, and in how many parts, changes nothing in the end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "plumb/details.h"

namespace plumb::metrics {

class AdaptiveHistogram {
 public:
  // Values that are not finite count nowhere.
  void add(const double* target, const double* golden, int64_t count);
  void append(const AdaptiveHistogram& later);
  std::optional<PairHistogram> finish() const;  // nullopt if nothing is finite

 private:
  using Counts = std::array<int64_t, kMostBins>;
  void cover(double low, double high);
  void move_to(int exponent, int64_t first);
  void count(const double* values, int64_t count, bool all_finite, Counts& counts) const;

  double low_ = 0, high_ = 0;  // of all values
  bool has_any_ = false;
  int exponent_ = 0;   // bins are 2^exponent wide
  int64_t first_ = 0;  // the first begins at first * 2^exponent
  Counts target_{}, golden_{};
};

}  // namespace plumb::metrics
