// SPDX-License-Identifier: Apache-2.0
//
// Ranges that clip on purpose: what is lost outside is won inside, where the steps get finer. What
// calibration saw is searched as a histogram, so the cost does not depend on the amount of data.
#pragma once

#include "quant/histogram.h"

namespace plumb::quant {

// The range whose grid has the least mean square error. Candidates: lo = min (1 - i/50), i = 0..40,
// by hi = max (1 - j/80), j = 0..60; symmetric: 100 steps down to a fifth of the largest magnitude.
// Then once more around the best, five times finer. `all`, smallest and largest number, is one of
// them, so the result is never worse than that.
Range least_square_range(const Histogram& histogram, Range all, const Scheme& scheme);
// Of the numbers themselves, where they are all there and few: the centre of a bin is not the
// number, and weights may lie on a grid already.
Range least_square_range(std::span<const float> values, Range all, const Scheme& scheme);

// The magnitude up to which numbers, told apart by 128 levels (256 if none is negative), differ
// least from all of them in relative entropy (Kullback-Leibler): of thresholds at each multiple of
// that many bins, the largest of equally good ones. What lies beyond counts to the last bin; a bin
// of levels where nothing was counted gets 1e-4 of all. No more than 1 % of the numbers lie
// beyond. Bins hold 50 numbers on average: neighbours are merged for that, and where fewer than 4
// bins are left for each level all numbers are inside.
double entropy_threshold(const Histogram& histogram, bool is_signed);

}  // namespace plumb::quant
