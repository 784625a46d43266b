// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the bulk rule (bulk_sums.h): pairs are sorted into buckets by |golden|, all of
// them, or the few that matter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kBulkBlock = 1024;  // at most this many pairs at a time

struct BulkScale {
  double scale;               // of all values
  double relative, absolute;  // a difference not larger than relative * |g| or absolute is ignored
  double half_absolute;       // ... is not off by half
};
// Of pairs with about the same |golden|. Numbers of one type, so that one vector holds them all.
struct alignas(32) BulkBucket {
  double count = 0, gg = 0, dd = 0;
  double off = 0;  // pairs that are off by half; only where all pairs are sorted
};
inline constexpr uint32_t kBulkBuckets = 2048;  // the one behind them takes what is not finite
// Neighbouring pairs go to different tables: often they have the same bucket, and one addition
// would wait for the other.
inline constexpr size_t kBulkTables = 2;
using BulkTables = BulkBucket* const[kBulkTables];
uint32_t bulk_bucket(double size);  // of |golden|
float bulk_bucket_begin(uint32_t bucket);
// Adds at most kBulkBlock pairs to their buckets; what is not finite counts as nothing.
void bulk_block(const double* target, const double* golden, int64_t count, const BulkScale& scale,
                BulkTables& tables);

// Finds the pairs of floats with |golden| from a size on, and those that differ by no more than
// relative * |golden| or absolute. Writes them in order and returns their number. At most
// kBulkBlock pairs at a time.
struct BulkFilter {
  float from, relative, absolute;
};
struct alignas(64) BulkRoom {  // whole vectors are written
  float target[kBulkBlock + 64], golden[kBulkBlock + 64];
};
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, BulkRoom& found);
// Of these pairs, any number, which need no scale: adds those with |golden| from a size on to
// `buckets`, the first of which is `first_bucket`.
struct BulkExceptions {
  double ignored = 0;     // sum of squares of the differences that are ignored
  int64_t differing = 0;  // pairs that differ and are ignored or added
  int64_t not_off = 0;    // pairs off by half in float, but not beyond BulkScale::half_absolute
};
void add_exceptions(const float* target, const float* golden, int64_t count, const BulkScale& scale,
                    float from, uint32_t first_bucket, BulkBucket* buckets, BulkExceptions& sums);

// The definitions, one pair at a time.
namespace reference {
void bulk_block(const double* target, const double* golden, int64_t count, const BulkScale& scale,
                BulkTables& tables);
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, BulkRoom& found);
void add_exceptions(const float* target, const float* golden, int64_t count, const BulkScale& scale,
                    float from, uint32_t first_bucket, BulkBucket* buckets, BulkExceptions& sums);
}  // namespace reference

}  // namespace plumb::metrics
