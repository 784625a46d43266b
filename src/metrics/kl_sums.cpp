// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_sums.h"

#include <cmath>
#include <limits>

namespace plumb::metrics {
namespace {

ShareMap map_of(double min, double max) {
  return max > min ? ShareMap{min, 1 / (max - min)} : ShareMap{};
}

}  // namespace

KlSums::KlSums(const PairSums& first)
    : scale(std::ldexp(1.0, -first.exponent)),
      t_map(map_of(first.t_min * scale, first.t_max * scale)),
      g_map(map_of(first.g_min * scale, first.g_max * scale)) {}

void KlSums::add(const double* target, const double* golden, int64_t count) {
  const KlBlock block = kl_block(target, golden, count, scale, t_map, g_map);
  t_sum += block.t_sum;
  g_sum += block.g_sum;
  log_sum += block.log_sum;
}

void KlSums::append(const KlSums& later) {
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  log_sum += later.log_sum;
}

// With P and Q the sums of the shares p and q: sum of p/P ln((p/P) / (q/Q)).
double KlSums::divergence() const {
  if (t_sum == 0) return 0;  // no pair at all
  const double divergence = log_sum / t_sum - log_ratio(t_sum, g_sum);
  return divergence < std::numeric_limits<double>::epsilon() ? 0 : divergence;
}

constinit const Accumulator kKlSums{
    [](const PairFacts& first, bool) { return accumulated(KlSums(first.sums)); }};

}  // namespace plumb::metrics
