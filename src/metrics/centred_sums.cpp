// SPDX-License-Identifier: Apache-2.0
#include "metrics/centred_sums.h"

#include <cmath>

#include "metrics/detail_block.h"

namespace plumb::metrics {

bool needs_centring(const PairSums& sums) {
  const auto n = static_cast<double>(sums.finite);
  const auto cancels = [n](double sum, double squares) {
    return sum / n * sum > 255.0 / 256 * squares;
  };
  return (sums.t_min != sums.t_max && cancels(sums.t_sum, sums.tt)) ||
         (sums.g_min != sums.g_max && cancels(sums.g_sum, sums.gg));
}

CentredSums::CentredSums(const PairSums& first)
    : exponent(first.exponent),
      t_mean(first.finite > 0 ? first.t_sum / static_cast<double>(first.finite) : 0),
      g_mean(first.finite > 0 ? first.g_sum / static_cast<double>(first.finite) : 0) {}

void CentredSums::add(const double* target, const double* golden, int64_t count) {
  const CentredBlock block =
      centred_block(target, golden, count, std::ldexp(1.0, -exponent), t_mean, g_mean);
  t_sum += block.t_sum;
  g_sum += block.g_sum;
  tt += block.tt;
  gg += block.gg;
  tg += block.tg;
}

void CentredSums::append(const CentredSums& later) {
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  tt += later.tt;
  gg += later.gg;
  tg += later.tg;
}

constinit const Accumulator kCentredSums{
    [](const PairFacts& first, bool) {
      return needs_centring(first.sums) ? accumulated(CentredSums(first.sums)) : nullptr;
    },
    true};

}  // namespace plumb::metrics
