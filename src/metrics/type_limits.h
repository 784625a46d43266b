// SPDX-License-Identifier: Apache-2.0
//
// Where a type ends: values there may have been larger before they were stored. What a tensor holds
// at the limits of its type, and whether the first pass over a pair has settled that already.
#pragma once

#include <optional>

#include "metrics/accumulator.h"

namespace plumb::metrics {

// A value not above `low` or not below `high` is at the limit; infinities are, NaN is not.
struct Limits {
  double low, high;
  bool hold(double value) const { return low < value && value < high; }
};

// Of the type as stored (int4, not the int8 it unpacks to), complex numbers by their parts. Nothing
// for bool, single bits and integers of 32 and 64 bits, which hold flags, indices and counts.
std::optional<Limits> limits_of(DType stored);

// How many of `count` elements are at the limit; `dtype` is that of `data`, one element per whole
// byte(s). A complex number counts twice if both of its parts are.
int64_t count_at_limit(DType dtype, const std::byte* data, int64_t count, const Limits& limits);

// The count of a whole side of a pair, if its extremes settle it; nothing if elements have to be
// looked at.
std::optional<int64_t> target_at_limit_by_sums(const PairSums& sums,
                                               const std::optional<Limits>& limits);
std::optional<int64_t> golden_at_limit_by_sums(const PairSums& sums,
                                               const std::optional<Limits>& limits);

// Both counts, where the sums do not settle them.
extern const Accumulator kLimitCounts;

}  // namespace plumb::metrics
