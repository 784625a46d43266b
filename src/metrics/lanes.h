// SPDX-License-Identifier: Apache-2.0
//
// Every sum of a kernel runs over a fixed number of partial sums: element i of a block goes to lane
// i % kLanes, and the lanes are added pairwise at the end. So the digits do not depend on how many
// of them a machine's vectors hold. Here one term at a time; lane_sums.h does it by vectors.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace plumb::metrics {

inline constexpr int64_t kLanes = 8;

inline constexpr double kLargestFinite = std::numeric_limits<double>::max();
inline bool both_finite(double t, double g) {
  return std::fabs(t) <= kLargestFinite && std::fabs(g) <= kLargestFinite;
}

inline double fold_lanes(double* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

inline double lane_sum(const double* terms, int64_t count) {
  double lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += terms[i + lane];
  for (int64_t i = whole; i < count; ++i) lanes[i - whole] += terms[i];
  return fold_lanes(lanes);
}

class LaneSum {
 public:
  void add(int64_t i, double term) { lanes_[i % kLanes] += term; }
  double total() {  // once
    return fold_lanes(lanes_);
  }

 private:
  double lanes_[kLanes] = {};
};

}  // namespace plumb::metrics
