// SPDX-License-Identifier: Apache-2.0
//
// What the bulk rule needs: a few huge values must not mask that all others are wrong. Pairs are
// sorted into buckets by |golden|, eight to a power of two, with sums of squares in each; the
// elements of the bucket in which the smallest 99 % end count in proportion.
#pragma once

#include <optional>
#include <vector>

#include "metrics/accumulator.h"
#include "metrics/detail_block.h"

namespace plumb::metrics {

class BulkSums {
 public:
  // Differences below the resolution of the coarser of the two types (as the values show it, see
  // PairSums::t_fits_half) are ignored.
  BulkSums(const PairSums& first, DType target, DType golden);

  void add(const double* target, const double* golden, int64_t count);  // a block of detail_block.h
  void append(const BulkSums& later);

  // Relative distance over the bulk: 0 if nothing differs there. Where golden is zero all over it,
  // root mean squares are compared, with golden's beyond the bulk; infinite if it is zero there,
  // too.
  double rel_euclid() const;
  // Pairs with golden not zero whose error is beyond half of it, beyond the resolution of the
  // coarser type, and beyond what sums of float32 of golden's size leave behind.
  int64_t off_by_half() const { return off_by_half_; }

 private:
  std::vector<BulkBucket> summed() const;

  std::vector<BulkBucket> tables_[kBulkTables];
  BulkScale scale_;
  int64_t off_by_half_ = 0;
};

// If not exactly, only where one of the following says nothing.
extern const Accumulator kBulkSums;

// An upper bound of the distance by the first pass's sums alone, if they give one.
std::optional<double> bulk_bound(const PairSums& sums);
// Of the share of pairs that are off by half, if it is small enough not to look closer.
std::optional<double> off_bound(const PairSums& sums);

}  // namespace plumb::metrics
