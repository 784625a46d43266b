// SPDX-License-Identifier: Apache-2.0
//
// The kernel under tensor_stats: one block of floats or doubles that fits the first-level cache, in
// one pass. Squared deviations are taken from a centre near the mean, which avoids the cancellation
// of the textbook formula. Value i goes to partial sum i % kLanes; the lanes are added pairwise at
// the end, in the same order on every machine.
#pragma once

#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kBlock = 2048;  // at most this many values at a time

struct BlockStats {
  double offset_sum = 0;          // of x - centre
  double offset_sum_squares = 0;  // of (x - centre)^2
  double sum_squares = 0;
  double min = 0;
  double max = 0;
  int64_t zeros = 0;
  // False: a value is NaN or infinite and the rest means nothing, or the sum of finite ones
  // overflows.
  bool finite = true;
};

// 0 < count <= kBlock.
BlockStats block_stats(const float* values, int64_t count, double centre);
BlockStats block_stats(const double* values, int64_t count, double centre);
BlockStats block_stats_scalar(const float* values, int64_t count, double centre);
BlockStats block_stats_scalar(const double* values, int64_t count, double centre);

}  // namespace plumb::metrics
