// SPDX-License-Identifier: Apache-2.0
//
// What slice_rel_euclid leaves out, and its worst slice or band in words.
#pragma once

#include <string>

#include "metrics/accumulator.h"

namespace plumb::metrics {

// The root mean square of errors up to which a slice does not stand out: below the smallest normal
// number of the coarser type values vanish by design, and far below the others there is what sums
// of float32 leave behind.
double ignored_in_slices(const PairFacts& facts);

// "axis 2, index 4: all 400 values", "from 0.25 to 0.5: all 60 values"; empty if none stands out.
std::string worst_slice_text(const PairFacts& facts);

}  // namespace plumb::metrics
