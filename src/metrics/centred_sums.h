// SPDX-License-Identifier: Apache-2.0
//
// Sums of squares and products around the means, for tensors whose values lie far from zero
// compared to their spread: there the textbook formula for variance loses its digits. A second
// pass, with the means of the first.
#pragma once

#include "metrics/accumulator.h"

namespace plumb::metrics {

// True if the variance of a side, taken from the plain sums, would lose more than eight bits.
bool needs_centring(const PairSums& sums);

struct CentredSums {
  explicit CentredSums(const PairSums& first);

  int exponent;           // as PairSums::exponent: everything here is scaled by it
  double t_mean, g_mean;  // over the pairs of two finite values
  // Of the deviations from these means. A mean is rounded, so the plain sums are not quite 0.
  double t_sum = 0, g_sum = 0;
  double tt = 0, gg = 0, tg = 0;

  void add(const double* target, const double* golden, int64_t count);  // a block of detail_block.h
  void append(const CentredSums& later);
};

// Only where it is needed.
extern const Accumulator kCentredSums;

}  // namespace plumb::metrics
