// SPDX-License-Identifier: Apache-2.0
//
// The kernel of the Kullback-Leibler divergence, over blocks of pairs. Only additions,
// multiplications and divisions that round alike on every machine, the logarithm included: no
// library's digits come in.
#pragma once

#include <cstdint>

namespace plumb::metrics {

// A value becomes the share max((value * scale - min) * factor, smallest).
struct ShareMap {
  double min = 0;
  double factor = 1;
};
struct KlBlock {
  double t_sum = 0, g_sum = 0;  // of the shares
  double log_sum = 0;           // of t_share * ln(t_share / g_share)
};
// A pair with a value that is not finite counts as nothing.
KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
KlBlock kl_block(const float* target, const float* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
// The same with a scale of 1, of finite values.
KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map);
// ... in floats: where the two shares are alike, which they mostly are, a short series takes the
// place of the logarithm. The divergence is good to seven decimals.
KlBlock rough_kl_block(const float* target, const float* golden, int64_t count,
                       const ShareMap& t_map, const ShareMap& g_map);

// The definitions, one pair at a time.
namespace reference {
KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
KlBlock kl_block(const float* target, const float* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
KlBlock rough_kl_block(const float* target, const float* golden, int64_t count,
                       const ShareMap& t_map, const ShareMap& g_map);
}  // namespace reference

// ln(p / q) of two positive normal numbers, good to a few units in the last place.
double log_ratio(double p, double q);

}  // namespace plumb::metrics
