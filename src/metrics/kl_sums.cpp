// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

constexpr double kSmallestShare = std::numeric_limits<float>::epsilon();

}  // namespace

KlSums::KlSums(const PairSums& first)
    : scale(std::ldexp(1.0, -first.exponent)),
      t_min(first.t_min * scale),
      t_range(first.t_max * scale - t_min),
      g_min(first.g_min * scale),
      g_range(first.g_max * scale - g_min) {}

void KlSums::add(const PairPiece& piece) {
  const auto share = [this](double value, double min, double range) {
    const double scaled = value * scale;
    return std::max(range > 0 ? (scaled - min) / range : scaled, kSmallestShare);
  };
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
    double t_block = 0, g_block = 0, log_block = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      const double p = share(t[i], t_min, t_range), q = share(g[i], g_min, g_range);
      t_block += p;
      g_block += q;
      if (p != q) log_block += p * std::log(p / q);
    }
    t_sum += t_block;
    g_sum += g_block;
    log_sum += log_block;
  });
}

void KlSums::append(const KlSums& later) {
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  log_sum += later.log_sum;
}

// With P and Q the sums of the shares p and q: sum of p/P ln((p/P) / (q/Q)).
double KlSums::divergence() const {
  if (t_sum == 0) return 0;  // no pair at all
  const double divergence = log_sum / t_sum - std::log(t_sum / g_sum);
  return divergence < std::numeric_limits<double>::epsilon() ? 0 : divergence;
}

}  // namespace plumb::metrics
