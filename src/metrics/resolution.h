// SPDX-License-Identifier: Apache-2.0
//
// How fine a type is: what the bulk rule ignores and what max_ulp counts in.
#pragma once

#include "metrics/pair_sums.h"

namespace plumb::metrics {

struct Resolution {
  double relative;  // the widest gap between neighbours, relative to the lower one
  double absolute;  // a difference not larger than this is none: the smallest normal number
};

// Of real types. Integers have no relative resolution; differences below 1 are none to them.
Resolution resolution_of(DType dtype);

// From here on a type of floats holds nothing but whole numbers; 0 of eight bits, which have a
// handful of values.
double only_whole_from(DType dtype);

// The one with the larger relative resolution; the first if they are alike.
DType coarser_of(DType a, DType b);

// The type that the values of a side show, complex numbers by their parts: a float32 file of
// nothing but float16 values holds float16 data, since dump tools widen. Zeros fit everything: a
// tensor with hardly anything else shows nothing.
DType shown_target_dtype(DType dtype, const PairSums& sums);
DType shown_golden_dtype(DType dtype, const PairSums& sums);

}  // namespace plumb::metrics
