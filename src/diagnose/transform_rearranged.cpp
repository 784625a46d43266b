// SPDX-License-Identifier: Apache-2.0
//
// Two steps of pre-processing at once: channels last, blue first, or upside down, and other
// numbers as well.
#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnose/channel_axis.h"
#include "diagnose/rearrangement.h"
#include "diagnose/transform_families.h"
#include "tensor/layout/layout.h"

namespace plumb::diagnose {
namespace {

constexpr double kMostInSample = 0.3;

std::vector<Rearrangement> candidates_of(const Problem& problem) {
  std::vector<Rearrangement> all = channel_reversals(problem.shape);
  for (Rearrangement& next : flips(problem.shape)) all.push_back(std::move(next));
  for (Rearrangement& next : axis_orders(problem.shape, problem.target_shape)) {
    if (const auto colours = colour_axis(next.shape)) {
      Rearrangement reversed = next;
      std::reverse(reversed.steps[*colours].begin(), reversed.steps[*colours].begin() + 3);
      reversed.detail += "+channels_reversed";
      reversed.text += ", its channels in reverse order";
      all.push_back(std::move(reversed));
    }
    all.push_back(std::move(next));
  }
  return all;
}

struct LineSums {
  double n = 0, t = 0, g = 0, tt = 0, gg = 0, tg = 0;
  void add(double target, double golden) {
    n += 1, t += target, g += golden;
    tt += target * target, gg += golden * golden, tg += target * golden;
  }
  double centred() const { return n > 0 ? std::max(0.0, tt - t * t / n) : 0; }
  double remaining() const {
    if (n < 3) return 0;
    const double variance = gg - g * g / n, covariance = tg - t * g / n;
    return variance > 0 ? std::max(0.0, centred() - covariance * covariance / variance) : centred();
  }
};

// What a scale and an offset, of each colour its own, leave of the target in the sample.
double distance_from_lines(const Problem& problem, const Rearrangement& candidate) {
  const auto axis = colour_axis(candidate.shape);
  const int64_t inner = axis ? row_major_strides(candidate.shape)[*axis] : 1;
  const int64_t colours = axis ? candidate.shape[*axis] : 1;
  LineSums lines[kMostColours];
  for (const int64_t at : problem.sample) {
    const int64_t place = place_in_golden(candidate, at);
    if (place < 0 || place >= std::ssize(problem.golden)) continue;
    // Around the mean, so that large offsets cost no digits.
    lines[axis ? at / inner % colours : 0].add(
        problem.target[static_cast<size_t>(at)] - problem.mean,
        problem.golden[static_cast<size_t>(place)]);
  }
  double rest = 0, centred = 0;
  for (const LineSums& line : lines) rest += line.remaining(), centred += line.centred();
  return centred > 0 ? std::sqrt(rest / centred) : std::numeric_limits<double>::infinity();
}

}  // namespace

void find_rearranged_affine(const Problem& problem, std::vector<Claim>& claims) {
  const std::vector<Rearrangement> candidates = candidates_of(problem);
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (const double d = distance_from_lines(problem, candidates[i]); d < kMostInSample)
      ranked.emplace_back(d, i);
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > kMostVerified) ranked.resize(kMostVerified);
  for (const auto& [distance, i] : ranked) {
    const std::vector<double> golden =
        rearranged(candidates[i], problem.golden, problem.count(), kNan);
    if (std::any_of(golden.begin(), golden.end(), [](double g) { return std::isnan(g); })) continue;
    Problem moved = problem;
    moved.golden = golden;
    moved.shape = candidates[i].shape;
    moved.alternatives = static_cast<double>(candidates.size());
    std::vector<Claim> found;
    find_affine(moved, found);
    if (!leaves_only_noise(moved, found)) find_affine_per_channel(moved, found);
    for (const Claim& claim : found)
      claims.push_back({candidates[i].detail + "+" + claim.detail,
                        candidates[i].text + "; then " + claim.text, claim.remaining});
    if (!found.empty()) return;
  }
}

}  // namespace plumb::diagnose
