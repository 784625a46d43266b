// SPDX-License-Identifier: Apache-2.0
//
// Values moved along an axis: tokens off by one, the wrong sample of a batch, a signal that starts
// late.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "diagnose/rearrangement.h"
#include "diagnose/transform_families.h"
#include "tensor/layout/layout.h"

namespace plumb::diagnose {
namespace {

constexpr int64_t kFarthest = 4096;  // places, so that long signals cost no more than others

struct Shift {
  double distance;  // in the sample, as in rearrangement.cpp
  size_t axis;
  int64_t by;
};

double distance_when_shifted(const Problem& problem, int64_t length, int64_t stride, int64_t by) {
  double rest = 0, centred = 0;
  int64_t covered = 0;
  for (const int64_t place : problem.sample) {
    const int64_t from = place / stride % length - by;
    const int64_t source = place - by * stride;
    if (from < 0 || from >= length || source >= std::ssize(problem.golden)) continue;
    const double t = problem.target[static_cast<size_t>(place)], far = t - problem.mean;
    const double d = t - problem.golden[static_cast<size_t>(source)];
    rest += d * d;
    centred += far * far;
    if (++covered == 32 && rest > centred) break;
  }
  return centred > 0 ? std::sqrt(rest / centred) : std::numeric_limits<double>::infinity();
}

Rearrangement shifted(const Shape& shape, const Shift& shift, bool around) {
  Rearrangement result = plain(shape);
  result.detail = fmt::format("shift:{},{}", shift.axis, shift.by);
  result.text = fmt::format("the target is golden moved by {} along axis {}{}", shift.by,
                            shift.axis, around ? ", around the end" : "");
  std::vector<int64_t>& steps = result.steps[shift.axis];
  const std::vector<int64_t> before = steps;
  const int64_t length = shape[shift.axis];
  for (int64_t i = 0; i < length; ++i) {
    const int64_t from = i - shift.by;
    const bool is_inside = from >= 0 && from < length;
    steps[static_cast<size_t>(i)] = is_inside ? before[static_cast<size_t>(from)]
                                    : around ? before[static_cast<size_t>((from + length) % length)]
                                             : kNowhere;
  }
  return result;
}

}  // namespace

void find_shift(const Problem& problem, std::vector<Claim>& claims) {
  if (problem.shape.size() > kMostAxes) return;
  const Shape strides = row_major_strides(problem.shape);
  std::vector<Shift> best;
  double tried = 0;
  for (size_t axis = 0; axis < problem.shape.size(); ++axis) {
    const int64_t length = problem.shape[axis], most = std::min(length / 2, kFarthest);
    for (int64_t by = 1; by <= most; ++by) {
      for (const int64_t signed_by : {by, -by}) {
        ++tried;
        const double distance = distance_when_shifted(problem, length, strides[axis], signed_by);
        if (distance < 0.75) best.push_back({distance, axis, signed_by});
      }
    }
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Shift& a, const Shift& b) { return a.distance < b.distance; });
  if (best.size() > kMostVerified) best.resize(kMostVerified);
  for (const Shift& shift : best) {
    for (const bool around : {true, false}) {
      try_rearrangements(problem, {shifted(problem.shape, shift, around)},
                         {.alternatives = tried, .least_covered = around ? 1 : 0.5}, claims);
      if (!claims.empty() && claims.back().detail.starts_with("shift:")) return;
    }
  }
}

}  // namespace plumb::diagnose
