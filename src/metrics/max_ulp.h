// SPDX-License-Identifier: Apache-2.0
//
// How many representable values lie between target and golden: the error in the steps that the type
// can take.
#pragma once

#include "metrics/accumulator.h"

namespace plumb::metrics {

// The largest distance among the pairs of two finite values, 0 if there are none. Both are first
// rounded to the coarser of the two types (resolution.h); a value beyond its largest counts as the
// next one. +0 and -0 are the same. Integers: the difference. Saturates at INT64_MAX.
int64_t max_ulp(const PairPiece& piece);

extern const Accumulator kMaxUlp;

}  // namespace plumb::metrics
