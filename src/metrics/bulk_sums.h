// SPDX-License-Identifier: Apache-2.0
//
// What the bulk rule needs: a few huge values must not mask that all others are wrong. Pairs are
// sorted into buckets by |golden|, eight to a power of two, with sums of squares in each; the
// elements of the bucket in which the smallest 99 % end count in proportion.
//
// Sorting takes longer than all the first pass does. So a look at some values tells from which
// bucket on the largest 1 % lie; only pairs from there on are sorted, and what is below is the
// first pass's sums without them. If the look was wrong, all pairs are sorted.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "metrics/accumulator.h"
#include "metrics/bulk_block.h"

namespace plumb::metrics {

class BulkSums {
 public:
  // Differences below the resolution of the coarser of the two types (as the values show it, see
  // PairSums::t_fits_half) are ignored.
  // `sorts_all`: whatever expect() tells.
  BulkSums(const PairSums& first, DType target, DType golden, bool sorts_all = false);

  void expect(std::span<const double> golden);
  void add(const PairPiece& piece);
  void append(const BulkSums& later);
  bool is_settled() const;
  void restart();
  // After expect(), instead of adding any pair: by what the first pass put aside, chunk by chunk.
  // False if that does not settle it.
  bool settle(std::span<const BulkCandidates> chunks);

  // Relative distance over the bulk: 0 if nothing differs there. Where golden is zero all over it,
  // root mean squares are compared, with golden's beyond the bulk; infinite if it is zero there,
  // too.
  double rel_euclid() const;
  // The worst band of magnitude, from a power of two to the next, if all pairs were sorted and the
  // error of one stands out: as SliceSums::worst() has it for slices.
  struct WorstBand {
    double ratio, from;
    int64_t elements;
  };
  std::optional<WorstBand> worst_band(double ignored) const;
  // Pairs with golden not zero whose error is beyond half of it, beyond the resolution of the
  // coarser type, and beyond what sums of float32 of golden's size leave behind.
  int64_t off_by_half() const;
  // The size of the errors that small values and large ones have alike, as operands leave it that
  // were larger than their sum (x + c - c): what is not larger than a few of it is no value of its
  // own. 0 if errors are not alike, or if not all pairs were sorted.
  double common_error() const;

 private:
  bool sorts_all() const { return first_bucket_ < 0; }
  BulkBucket below() const;
  std::vector<BulkBucket> summed() const;
  struct Band;  // from a power of two to the next
  static std::vector<Band> bands_of(const std::vector<BulkBucket>& buckets, int64_t fewest);
  double common_error(const std::vector<BulkBucket>& buckets) const;
  bool is_suspicious() const;

  struct First {  // of all pairs, by the first pass
    double count, gg, dd;
    int64_t differing, off, zeros;
    uint32_t largest;  // bucket
    bool is_wide;      // more than floats hold, or scaled
  };
  First first_;
  bool must_sort_all_;
  BulkScale scale_;
  // If all pairs are sorted: a bucket each, and the one of what is not finite. Else those from
  // `first_bucket_` on, or from the smallest number above zero on if it is 0.
  std::vector<BulkBucket> tables_[kBulkTables];
  int first_bucket_ = -1;
  BulkFilter filter_ = {};
  BulkExceptions exceptions_;  // unless all are sorted
};

// If not exactly, only where one of the following says nothing.
extern const Accumulator kBulkSums;

// An upper bound of the distance by the first pass's sums alone, if they give one.
std::optional<double> bulk_bound(const PairSums& sums);
// Of the share of pairs that are off by half, if it is small enough not to look closer.
std::optional<double> off_bound(const PairSums& sums);

}  // namespace plumb::metrics
