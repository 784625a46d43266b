// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_sums.h"

#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

ShareMap map_of(double min, double max) {
  return max > min ? ShareMap{min, 1 / (max - min)} : ShareMap{};
}

}  // namespace

KlSums::KlSums(const PairSums& first)
    : scale(std::ldexp(1.0, -first.exponent)),
      t_map(map_of(first.t_min * scale, first.t_max * scale)),
      g_map(map_of(first.g_min * scale, first.g_max * scale)),
      is_plain(first.exponent == 0 && first.finite == first.count) {}

void KlSums::add(const KlBlock& block) {
  t_sum += block.t_sum;
  g_sum += block.g_sum;
  log_sum += block.log_sum;
}

void KlSums::add(const double* target, const double* golden, int64_t count) {
  add(kl_block(target, golden, count, scale, t_map, g_map));
}
void KlSums::add(const float* target, const float* golden, int64_t count) {
  add(is_plain ? kl_block(target, golden, count, t_map, g_map)
               : kl_block(target, golden, count, scale, t_map, g_map));
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

RoughKlSums::RoughKlSums(const PairSums& first) : KlSums(first) {
  constexpr double kSmall = 0x1p-100, kLarge = 0x1p100;
  const auto fits = [](double min, double max) {
    const double range = max - min;
    return min > -kLarge && max < kLarge && (range == 0 || range > kSmall);
  };
  constexpr double kAlike = 0x1p-8;  // else the divergence is large, and so are its errors
  in_floats = first.dd < kAlike * std::min(first.tt, first.gg) && first.exponent == 0 &&
              fits(first.t_min, first.t_max) && fits(first.g_min, first.g_max);
}

void RoughKlSums::add(const PairPiece& piece) {
  if (in_floats)
    for_each_float_block<kDetailBlock>(piece, [&](const float* t, const float* g, int64_t count) {
      KlSums::add(rough_kl_block(t, g, count, t_map, g_map));
    });
  else
    for_each_block(
        piece, [&](const double* t, const double* g, int64_t count) { KlSums::add(t, g, count); });
}

constinit const Accumulator kKlSums{
    [](const PairFacts& first, bool) { return accumulated(KlSums(first.sums)); }};

}  // namespace plumb::metrics
