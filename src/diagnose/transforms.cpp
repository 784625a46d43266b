// SPDX-License-Identifier: Apache-2.0
#include "diagnose/transforms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnose/transform_families.h"

namespace plumb::diagnose {
namespace {

// The simplest first: where several explain the data alike, the first is claimed.
struct Family {
  const char* words;
  void (*find)(const Problem& problem, std::vector<Claim>& claims);
};
constexpr Family kFamilies[] = {
    {"channels_reversed", find_channels_reversed},
    {"flip", find_flip},
    {"axes", find_axes},
    {"negated, offset, scale, affine", find_affine},
    {"saturated", find_saturated},
    {"cast", find_cast},
    {"shift", find_shift},
    {"affine_per_channel", find_affine_per_channel},
};
// If none of them does.
constexpr Family kCombined = {"a rearrangement + affine", find_rearranged_affine};
// If sizes differ.
constexpr Family kOtherSize = {"padding", find_padding};

constexpr double kAlike = 1.25;         // times the best explanation's remaining error
constexpr double kMostTimesNoise = 4;   // times the noise need no explanation
constexpr double kFinest = 1e-7;        // of float32, if less noise is said
constexpr double kLeastCovered = 0.25;  // of the beginning of a tensor

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
}

// The shape has to fit the data: both come from files.
bool fits_shape(const Shape& shape, std::span<const double> values, bool is_whole) {
  const auto count = element_count(shape);
  return count && (is_whole ? *count == std::ssize(values) : *count >= std::ssize(values));
}

double relative_error(const Problem& problem) {
  double change = 0, golden = 0;
  for (size_t i = 0; i < problem.target.size(); ++i) {
    const double d = problem.target[i] - problem.golden[i];
    change += d * d;
    golden += problem.golden[i] * problem.golden[i];
  }
  return golden > 0 ? std::sqrt(change / golden) : std::numeric_limits<double>::infinity();
}

const Claim& simplest(const std::vector<Claim>& claims, double noise) {
  double best = claims.front().remaining;
  for (const Claim& claim : claims) best = std::min(best, claim.remaining);
  return *std::find_if(claims.begin(), claims.end(), [&](const Claim& claim) {
    return claim.remaining <= std::max(kAlike * best, noise);
  });
}

}  // namespace

std::optional<Transform> find_transform(const compare::PairValues& values, double noise) {
  if (values.target.empty() || values.golden.empty() || !all_finite(values.target) ||
      !all_finite(values.golden) || is_constant(values.target) || is_constant(values.golden) ||
      !fits_shape(values.golden_shape, values.golden, values.is_whole) ||
      !fits_shape(values.target_shape, values.target, values.is_whole))
    return std::nullopt;
  Problem problem = problem_of(values.target, values.golden);
  problem.shape = values.golden_shape;
  problem.target_shape = values.target_shape;
  problem.target_dtype = values.target_dtype;
  problem.noise = std::isnan(noise) ? kFinest : std::max(noise, kFinest);
  if (!values.is_whole) problem.least_covered = kLeastCovered;

  std::vector<Claim> claims;
  double error = std::numeric_limits<double>::quiet_NaN();
  if (!values.is_aligned()) {
    if (values.target.size() > values.golden.size()) kOtherSize.find(problem, claims);
  } else {
    error = relative_error(problem);
    // Golden as it is would do; nothing is known where squares overflow.
    if (!(error > kMostTimesNoise * problem.noise) || std::isinf(error)) return std::nullopt;
    for (const Family& family : kFamilies) {
      family.find(problem, claims);
      if (leaves_only_noise(problem, claims)) break;
    }
    if (claims.empty()) kCombined.find(problem, claims);
  }
  if (claims.empty()) return std::nullopt;
  const Claim& claim = simplest(claims, problem.noise);
  return Transform{claim.detail, claim.text, error, claim.remaining};
}

}  // namespace plumb::diagnose
