// SPDX-License-Identifier: Apache-2.0
//
// Everything the one-pass metrics need to know about a pair of tensors, gathered in one pass over
// both. Pieces are folded over a fixed number of partial sums and merged in order: threads and
// instruction set change no bit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace plumb::metrics {

class BulkCandidates;
class SliceSums;

// The lowest binary digit that values use, and how large they are.
struct DigitsUsed {
  // Exponents of 2; what is beyond counts there.
  static constexpr int kSmallest = -40, kLargest = 40;
  int lowest = 5000;
  std::array<int64_t, kLargest - kSmallest + 1> sizes = {};

  void add(double value);
  void append(const DigitsUsed& later);
  // How many more digits a type has beside these values than they use, all together. The type's
  // own rounding leaves next to none.
  int64_t unused(int digits_of_type, int lowest_of_type) const;
};

// t is the target's value, g the golden one, d = t - g. Complex numbers count as two values. Sums
// and extremes run over the pairs of two finite values.
struct PairSums {
  int64_t count = 0;
  int64_t finite = 0;  // pairs of two finite values

  // Pairs with a value that is not finite: those of equal kind and sign agree, the others do not.
  int64_t same_nan = 0;
  int64_t same_inf = 0;
  int64_t nan_only_in_target = 0;
  int64_t nan_only_in_golden = 0;
  int64_t inf_mismatch = 0;  // an infinity against a number, or against the other infinity

  int64_t masked = 0;        // of `same_inf`: mask values that agree, and were set aside before
  int64_t masked_apart = 0;  // of `inf_mismatch`: mask values against numbers

  // Of values times 2^-exponent, which is 0 unless float64 data would overflow or vanish when
  // squared.
  int exponent = 0;
  double t_sum = 0, g_sum = 0;
  double tt = 0, gg = 0, tg = 0;  // tg by way of dd, unless PairPass::products
  double dd = 0;                  // sum of d * d
  double abs_sum = 0;             // sum of |d|

  // As they are.
  double abs_max = 0;
  double rel_max = 0;       // largest |d| / |g| where g is not zero
  int64_t off_at_zero = 0;  // pairs with g = 0 and t not: their relative error is infinite
  int64_t off_by_half = 0;  // pairs with g not 0 and |d| > |g| / 2, d as rounded to their type
  int64_t equal = 0;        // pairs with t = g, and non-finite ones that agree
  int64_t t_zeros = 0, g_zeros = 0;
  double t_min = 0, t_max = 0, g_min = 0, g_max = 0;  // 0 if no pair is finite

  // Per side, of all its values.
  int64_t t_nan = 0, t_inf = 0, g_nan = 0, g_inf = 0;

  // True as long as every finite value of the side is one of the smaller type as well. Dump tools
  // widen: a float32 file may hold float16 data.
  bool t_fits_half = true, g_fits_half = true;
  bool t_fits_bfloat16 = true, g_fits_bfloat16 = true;

  // True as long as every finite value of the side is a whole number; of the target, as long as
  // each is a whole number, a half of one, or a power of two.
  bool t_whole = true, g_whole = true, t_coarse = true;

  // Of the target's first values, as long as they fit a narrow type. Numbers on a grid, quarters of
  // a pixel, say, fit it without showing it.
  DigitsUsed t_digits;

  bool has_relative = false;  // this was asked for:
  double rel_sum = 0;         // sum of |d| / |g| where g is not zero

  bool has_shares = false;    // these were asked for:
  int64_t rel_below_1e3 = 0;  // pairs with |d| < 0.001 |g|, or t = g, or non-finite and agreeing
  int64_t rel_below_5e3 = 0;
  // Position of the first pair with t != g and |d| / |g| >= kBeyond, or with non-finite values that
  // do not agree. Complex numbers by their size, at their first part.
  static constexpr double kBeyond = 0.01;
  std::optional<int64_t> first_beyond;

  double tg_by_squares() const { return (tt + gg - dd) / 2; }
  bool t_all_zero() const { return finite > 0 && t_zeros == finite; }
  bool g_all_zero() const { return finite > 0 && g_zeros == finite; }

  // `later` are the sums of the pairs that follow, with the same exponent.
  void append(const PairSums& later);
};

// The number of pairs a caller should pass at once; other sizes give the same sums up to rounding.
inline constexpr int64_t kPairPiece = 1 << 16;

// Little-endian elements, one per whole byte(s). Opaque types are not accepted; a complex type
// stands on both sides or on none.
struct PairPiece {
  DType target_dtype;
  const std::byte* target;
  DType golden_dtype;
  const std::byte* golden;
  int64_t count;
  // If given: called now and then with how many of the pairs are in the first-level cache or have
  // been, for whoever has something else to do with these bytes.
  const std::function<void(int64_t pairs)>* at_hand = nullptr;
};

struct PairPass {
  bool relative = false;    // also the relative sum, which costs a division for each pair
  int exponent = 0;         // scale values by 2^-exponent before they enter a sum
  bool products = false;    // sum t * g itself instead of taking it from the squares
  bool shares = false;      // also the counts of small relative errors, and the first that is not
  double least_golden = 0;  // where |g| is not above this, there is no relative error (as at 0)
};
// Adds to `slices`, too, if given: the piece starts at `position` of the tensor. Puts pairs aside
// in `candidates`, if given, which are of types that floats hold.
PairSums pair_sums(const PairPiece& piece, const PairPass& pass, SliceSums* slices = nullptr,
                   int64_t position = 0, BulkCandidates* candidates = nullptr);
PairSums pair_sums_scalar(const PairPiece& piece, const PairPass& pass);  // reference

// The pass to repeat `done` with, if its sums lost digits: squares overflowed or vanished, or t * g
// is small beside them.
std::optional<PairPass> better_pass(const PairSums& sums, const PairPass& done);

}  // namespace plumb::metrics
