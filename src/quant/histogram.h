// SPDX-License-Identifier: Apache-2.0
//
// How often which numbers occur, in bounded memory and one pass. Bins are as wide as a power of two
// and their edges are multiples of it; when numbers come that lie too far out, neighbours are
// merged and the width doubles. So what has been counted does not depend on the order in which the
// numbers came, nor on how they were split among threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/affine.h"

namespace plumb::quant {

class Histogram {
 public:
  // At least half of `most_bins`, and not more than that, lie between the numbers furthest out, or
  // between one of them and zero.
  explicit Histogram(int64_t most_bins = 8192) : most_bins_(most_bins) {}

  // Finite numbers that lie in `range`.
  void add(std::span<const float> values, Range range);
  void add(const Histogram& other);

  int64_t total() const { return total_; }
  double width() const;
  int64_t first() const { return first_; }  // bin 0 begins at first() * width()
  std::span<const int64_t> counts() const { return counts_; }
  double left_edge(int64_t bin) const { return static_cast<double>(first_ + bin) * width(); }
  double centre(int64_t bin) const { return (static_cast<double>(first_ + bin) + 0.5) * width(); }

  // Of magnitudes, from 0 on, in bins of the same width.
  std::vector<int64_t> magnitudes() const;

 private:
  void make_room(Range range);
  void coarsen();

  int64_t most_bins_;
  int exponent_ = 0;  // of the width
  int64_t first_ = 0;
  int64_t total_ = 0;
  std::vector<int64_t> counts_;  // empty: nothing was added yet
};

}  // namespace plumb::quant
