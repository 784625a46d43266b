// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the second pass, over blocks of pairs as doubles. A pair with a value that is not
// finite counts as nothing. Only additions, multiplications and divisions that round alike on every
// machine, the logarithm included: no library's digits come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
// The same in floats, of finite values: where the two shares are alike, which they mostly are, a
// short series takes the place of the logarithm. The divergence is good to seven decimals.
KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map);

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
uint32_t bulk_bucket(double size);  // of |golden|
float bulk_bucket_begin(uint32_t bucket);
// Adds the pairs of a block to their buckets. Returns how many are off by half.
int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables);

// Finds the pairs of floats with |golden| from a size on, and those that differ by no more than
// relative * |golden| or absolute. Writes their places, in order, and returns their number.
struct BulkFilter {
  float from, relative, absolute;
};
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, uint16_t* places);
// Of the pairs at these places, which need no scale: adds those with |golden| from a size on to
// `buckets`, the first of which is `first_bucket`.
struct BulkExceptions {
  double ignored = 0;     // sum of squares of the differences that are ignored
  int64_t differing = 0;  // pairs that differ and are ignored or added
  int64_t not_off = 0;    // pairs off by half in float, but not beyond BulkScale::half_absolute
};
void add_exceptions(const float* target, const float* golden, std::span<const uint16_t> places,
                    const BulkScale& scale, float from, uint32_t first_bucket, BulkBucket* buckets,
                    BulkExceptions& sums);

// Sums of deviations from two means.
struct CentredBlock {
  double t_sum = 0, g_sum = 0, tt = 0, gg = 0, tg = 0;
};
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);

// The most values of float32 that lie between two of a pair, each rounded to float32 first
// (one step beyond the largest if it lies beyond).
int64_t float_steps_block(const double* target, const double* golden, int64_t count);
int64_t float_steps_block(const float* target, const float* golden, int64_t count);

// A value lies at (value * scale - min) * steps, between 0 and `last` if it is not beyond.
struct StepMap {
  double scale, min, steps, last;
};
// Counts in `surplus` how many values of target are too many at a point, the nearest to each.
// Returns the sum of steps that target's values lie beyond.
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus);

// How many values are not above `low` or not below `high`; NaN is neither.
int64_t at_limit_block(const double* values, int64_t count, double low, double high);

// The definitions, one pair at a time.
namespace reference {
KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map);
KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map);
int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables);
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, uint16_t* places);
CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean);
int64_t float_steps_block(const double* target, const double* golden, int64_t count);
int64_t float_steps_block(const float* target, const float* golden, int64_t count);
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus);
int64_t at_limit_block(const double* values, int64_t count, double low, double high);
}  // namespace reference

// ln(p / q) of two positive normal numbers, good to a few units in the last place.
double log_ratio(double p, double q);

}  // namespace plumb::metrics
