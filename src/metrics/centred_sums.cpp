// SPDX-License-Identifier: Apache-2.0
#include "metrics/centred_sums.h"

#include <cmath>

#include "metrics/decoded_pairs.h"

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

void CentredSums::add(const PairPiece& piece) {
  const double scale = std::ldexp(1.0, -exponent);
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
    double sums[5] = {};
    for (int64_t i = 0; i < n; ++i) {
      if (!(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      const double x = t[i] * scale - t_mean, y = g[i] * scale - g_mean;
      sums[0] += x;
      sums[1] += y;
      sums[2] += x * x;
      sums[3] += y * y;
      sums[4] += x * y;
    }
    t_sum += sums[0];
    g_sum += sums[1];
    tt += sums[2];
    gg += sums[3];
    tg += sums[4];
  });
}

void CentredSums::append(const CentredSums& later) {
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  tt += later.tt;
  gg += later.gg;
  tg += later.tg;
}

}  // namespace plumb::metrics
