// SPDX-License-Identifier: Apache-2.0
//
// The kernel under tensor_stats: one block of floats or doubles that fits the first-level cache, in
// two passes (sums and extremes, then squares around the block's mean). Value i goes to partial sum
// i % kLanes; the lanes are added pairwise at the end, in the same order on every machine.
#pragma once

#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kLanes = 16;
inline constexpr int64_t kBlock = 2048;  // at most this many values at a time

struct BlockStats {
  double sum = 0;
  double sum_squares = 0;
  double squared_deviations = 0;  // from sum / count
  double min = 0;
  double max = 0;
  int64_t zeros = 0;
  bool finite = true;  // false: some value is NaN or infinite and the rest means nothing
};

// 0 < count <= kBlock.
BlockStats block_stats(const float* values, int64_t count);
BlockStats block_stats(const double* values, int64_t count);
BlockStats block_stats_scalar(const float* values, int64_t count);
BlockStats block_stats_scalar(const double* values, int64_t count);

}  // namespace plumb::metrics
