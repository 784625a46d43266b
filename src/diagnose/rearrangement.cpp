// SPDX-License-Identifier: Apache-2.0
#include "diagnose/rearrangement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/layout/layout.h"

namespace plumb::diagnose {
namespace {

// How far golden, rearranged, is from the target in the sample, relative to the target's deviation
// from its mean; infinite where too little is known.
double distance_as_rearranged(const Problem& problem, const Rearrangement& candidate,
                              double least_covered) {
  double rest = 0, centred = 0, covered = 0, seen = 0;
  for (const int64_t at : problem.sample) {
    ++seen;
    const int64_t place = place_in_golden(candidate, at);
    if (place < 0 || place >= std::ssize(problem.golden)) continue;
    ++covered;
    const double t = problem.target[static_cast<size_t>(at)];
    const double d = t - problem.golden[static_cast<size_t>(place)], far = t - problem.mean;
    rest += d * d;
    centred += far * far;
    if (covered == 64 && rest > centred) break;  // the mean would do as well
  }
  if (2 * covered < least_covered * problem.least_covered * seen || !(centred > 0))
    return std::numeric_limits<double>::infinity();
  return std::sqrt(rest / centred);
}

}  // namespace

Rearrangement plain(const Shape& shape) {
  Rearrangement same{.detail = {}, .text = {}, .shape = shape, .steps = {}};
  const Shape strides = row_major_strides(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t>& steps = same.steps.emplace_back();
    for (int64_t i = 0; i < shape[axis]; ++i) steps.push_back(i * strides[axis]);
  }
  return same;
}

int64_t place_in_golden(const Rearrangement& rearrangement, int64_t place) {
  int64_t sum = 0;
  for (size_t axis = rearrangement.shape.size(); axis-- > 0;) {
    const int64_t length = rearrangement.shape[axis];
    sum += rearrangement.steps[axis][static_cast<size_t>(place % length)];
    place /= length;
  }
  return sum;
}

std::vector<double> rearranged(const Rearrangement& rearrangement, std::span<const double> golden,
                               int64_t count, double missing) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(count));
  if (rearrangement.shape.empty()) {
    values.assign(golden.begin(), golden.begin() + std::min(count, std::ssize(golden)));
    return values;
  }
  const std::vector<int64_t>& inner = rearrangement.steps.back();
  while (std::ssize(values) < count) {
    // All of the last axis at once: only its step changes.
    const int64_t first = place_in_golden(rearrangement, std::ssize(values)) - inner.front();
    const auto length = std::min(std::ssize(inner), count - std::ssize(values));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t place = first + inner[static_cast<size_t>(i)];
      values.push_back(place >= 0 && place < std::ssize(golden) ? golden[static_cast<size_t>(place)]
                                                                : missing);
    }
  }
  return values;
}

void try_rearrangements(const Problem& problem, const std::vector<Rearrangement>& candidates,
                        const Freedom& freedom, std::vector<Claim>& claims) {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double distance = distance_as_rearranged(problem, candidates[i], freedom.least_covered);
    if (distance < 0.75) ranked.emplace_back(distance, i);
  }
  std::sort(ranked.begin(), ranked.end());  // of equal ones the first candidate
  if (ranked.size() > kMostVerified) ranked.resize(kMostVerified);
  for (const auto& [distance, i] : ranked) {
    const std::vector<double> values =
        rearranged(candidates[i], problem.golden, problem.count(), kNan);
    const auto left = remaining_after(
        problem, [&](int64_t place) { return values[static_cast<size_t>(place)]; }, freedom);
    if (!left) continue;
    claims.push_back({candidates[i].detail, candidates[i].text, *left});
    return;
  }
}

}  // namespace plumb::diagnose
