// SPDX-License-Identifier: Apache-2.0
//
// Mask constants: attention scores are raised or lowered by -10000, -65504 or the lowest number of
// a type where nothing may be seen. Beside them every other value is nothing in a sum of squares,
// so they are compared like infinities, as marks, and set aside.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "metrics/pair_sums.h"

namespace plumb::compare {

struct MaskValues {
  double from = 0;      // negative: all values of golden down from here; positive: up from here
  bool is_sure = true;  // else a mark agrees with what rounding makes of it, and no more

  // Lower marks are out of range in target, where an infinity stands for them. By its type, as it
  // shows; scores may have been added to the lowest number of that.
  double out_of_range = -std::numeric_limits<double>::infinity();
  void note_type_of_target(DType shown);

  bool is_mark(double value) const;  // never if it is not finite
  // True if both are marks, and of the same size as far as their types hold it: an infinity where
  // target's does not.
  bool agree(double target, double golden) const;
};

// The mask of golden, if one value, or a narrow band of very large ones, fills at least a twentieth
// of it and is far outside the rest; beside nothing but zeros a single very large one is enough.
// `drawn`: values of golden, evenly drawn. Asks for them only if the sums allow for a mask.
bool may_have_mask(const metrics::PairSums& sums);
std::optional<MaskValues> find_mask(const metrics::PairSums& sums, std::span<const double> drawn);
// The same where target has infinities, which the sums leave out: only the end of a type counts,
// and only below.
std::optional<MaskValues> find_mask_beside_infinities(std::span<const double> drawn);

// A piece of real numbers with infinities in place of the marks that agree, and of those that stand
// on one side only. Counts them. Marks of different sizes stay numbers.
class MaskedPiece {
 public:
  struct Marks {
    int64_t agree = 0, only_in_target = 0, only_in_golden = 0;
    int64_t infinite = 0;  // of those that agree: infinities of target's own
  };
  MaskedPiece(const metrics::PairPiece& piece, const MaskValues& mask);
  metrics::PairPiece piece() const;
  const Marks& marks() const { return marks_; }

 private:
  int64_t count_;
  Marks marks_;
  std::vector<float> floats_[2];  // target and golden, or:
  std::vector<double> doubles_[2];
};

}  // namespace plumb::compare
