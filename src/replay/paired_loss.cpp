// SPDX-License-Identifier: Apache-2.0
#include "replay/paired_loss.h"

#include <algorithm>
#include <cmath>

namespace plumb::replay {
namespace {

constexpr double kDeviations = 1.96;  // of 95 %
constexpr double kMostNeeded = 1e12;
constexpr int64_t kFew = 25;  // flips, for which the binomial distribution is summed up

struct Interval {
  double middle, half;
};

Interval interval_of(double samples, double lost, double gained) {
  const double delta = (gained - lost) / samples;
  const double variance = std::max(0.0, (lost + gained) / samples - delta * delta);
  return {delta, kDeviations * std::sqrt(variance) / std::sqrt(samples)};
}

double mcnemar(int64_t lost, int64_t gained) {
  const int64_t flips = lost + gained;
  if (flips == 0) return 1;
  if (flips >= kFew) {
    const auto uneven = static_cast<double>(std::max<int64_t>(0, std::abs(lost - gained) - 1));
    return std::erfc(std::sqrt(uneven * uneven / static_cast<double>(flips) / 2));
  }
  double ways = 1, tail = 0;  // of `flips` coins
  for (int64_t i = 0; i <= std::min(lost, gained); ++i) {
    tail += ways;
    ways = ways * static_cast<double>(flips - i) / static_cast<double>(i + 1);
  }
  return std::min(1.0, 2 * tail * std::exp2(-static_cast<double>(flips)));
}

}  // namespace

PairedLoss paired_loss(const Flips& flips) {
  const auto samples = static_cast<double>(flips.samples);
  const auto lost = static_cast<double>(flips.lost), gained = static_cast<double>(flips.gained);
  const Interval plain = interval_of(samples, lost, gained);
  const Interval careful = interval_of(samples + 2, lost + 1, gained + 1);
  return {plain.middle, plain.middle - plain.half, plain.middle + plain.half,
          careful.middle - careful.half, mcnemar(flips.lost, flips.gained)};
}

std::string_view name_of(LossVerdict verdict) {
  switch (verdict) {
    case LossVerdict::kPass: return "pass";
    case LossVerdict::kInconclusive: return "inconclusive";
    case LossVerdict::kFail: return "fail";
    default: return "severe";
  }
}

LossVerdict judge_loss(const PairedLoss& loss, const LossLimits& limits) {
  if (loss.delta <= -limits.severe) return LossVerdict::kSevere;
  if (loss.high < -limits.allowed) return LossVerdict::kFail;
  if (std::min(loss.low, loss.careful_low) >= -limits.allowed) return LossVerdict::kPass;
  return LossVerdict::kInconclusive;
}

int64_t samples_needed(const Flips& flips, double allowed) {
  const auto samples = static_cast<double>(std::max<int64_t>(flips.samples, 1));
  const double share = static_cast<double>(flips.lost + flips.gained) / samples;
  const auto to_tell = [&](double gap) {
    return std::ceil(std::min(kDeviations / gap * (kDeviations / gap) * share, kMostNeeded));
  };
  // Without any flip as many as the careful interval asks for.
  const double needed = std::max(to_tell(allowed), std::ceil(kDeviations * std::sqrt(2) / allowed));
  if (needed > samples) return static_cast<int64_t>(needed);
  // There are that many: the loss is too close to what is allowed.
  const double delta = static_cast<double>(flips.gained - flips.lost) / samples;
  return static_cast<int64_t>(std::max(to_tell(std::abs(allowed + delta)), 2 * samples));
}

}  // namespace plumb::replay
