// SPDX-License-Identifier: Apache-2.0
//
// Pairs that the bulk rule may have to look at (bulk_sums.h), put aside while the first pass has
// them at hand: reading a tensor again for the few percent of it that matter costs nearly as much
// as the first time. Which pairs they are is known only after that pass; a look at the start of the
// tensor tells which are enough, and nothing is lost where it was wrong: then the pair is read
// again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "metrics/accumulator.h"
#include "metrics/bulk_block.h"

namespace plumb::metrics {

class BulkCandidates {
 public:
  // Of pairs of which `look` has seen the first, golden's values being like those `drawn`. nullopt
  // if it is not likely that they are needed, or that few will do.
  static std::optional<BulkCandidates> foreseen(const PairFacts& look,
                                                std::span<const double> drawn);
  // By the look alone: whether it is worth drawing values.
  static bool may_be_needed(const PairSums& look);

  void add(const float* target, const float* golden, int64_t count);
  // Whether all that pass `filter` are here.
  bool hold(const BulkFilter& filter) const;

  std::span<const float> target() const { return target_; }  // in order
  std::span<const float> golden() const { return golden_; }

 private:
  explicit BulkCandidates(const BulkFilter& filter) : filter_(filter) {}

  BulkFilter filter_;
  bool are_few_ = true;  // else they were given up
  int64_t seen_ = 0;
  std::vector<float> target_, golden_;
};

// The bucket in which the bulk ends, as far as values of golden show it: rather too low than too
// high. nullopt if none is finite. `count` is that of all values.
std::optional<uint32_t> expected_end_of_bulk(std::span<const double> golden, double count);
// How many of the largest |golden| the bulk leaves out: 1 %, rounded up; none of a handful.
int64_t left_out_of_bulk(int64_t count);
// What is ignored, by the first pass or a look.
BulkScale bulk_scale(const PairSums& first, DType target, DType golden);
BulkFilter bulk_filter(const BulkScale& scale, uint32_t first_bucket);

}  // namespace plumb::metrics
