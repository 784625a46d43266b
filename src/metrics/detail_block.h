// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the second pass, over blocks of pairs as doubles. A pair with a value that is not
// finite counts as nothing. Only additions, multiplications and divisions that round alike on every
// machine, the logarithm included: no library's digits come in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kDetailBlock = 512;  // at most this many pairs at a time

// A value becomes the share max((value * scale - min) * factor, smallest).
struct ShareMap {
  double min = 0;
  double factor = 1;
};
struct KlBlock {
  double t_sum = 0, g_sum = 0;  // of the shares
  double log_sum = 0;           // of t_share * ln(t_share / g_share)
};
KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);

struct BulkScale {
  double scale;               // of all values
  double relative, absolute;  // a difference not larger than relative * |g| or absolute is ignored
  double half_absolute;       // ... is not off by half
};
// Of pairs with about the same |golden|. Numbers of one type, so that one vector holds them all.
struct alignas(32) BulkBucket {
  double count = 0, gg = 0, dd = 0, unused = 0;
};
inline constexpr uint32_t kBulkBuckets = 2048;  // the one behind them takes what is not finite
// Neighbouring pairs go to different tables: often they have the same bucket, and one addition
// would wait for the other.
inline constexpr size_t kBulkTables = 2;
using BulkTables = BulkBucket* const[kBulkTables];
// Adds the pairs of a block to their buckets. Returns how many are off by half.
int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables);

// Sums of deviations from two means.
struct CentredBlock {
  double t_sum = 0, g_sum = 0, tt = 0, gg = 0, tg = 0;
};
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);

// The most values of float32 that lie between two of a pair, each rounded to float32 first
// (one step beyond the largest if it lies beyond).
int64_t float_steps_block(const double* target, const double* golden, int64_t count);

// How many values are not above `low` or not below `high`; NaN is neither.
int64_t at_limit_block(const double* values, int64_t count, double low, double high);

// The definitions, one pair at a time.
namespace reference {
KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables);
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);
int64_t float_steps_block(const double* target, const double* golden, int64_t count);
int64_t at_limit_block(const double* values, int64_t count, double low, double high);
}  // namespace reference

// ln(p / q) of two positive normal numbers, good to a few units in the last place.
double log_ratio(double p, double q);

}  // namespace plumb::metrics
