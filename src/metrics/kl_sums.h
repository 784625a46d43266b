// SPDX-License-Identifier: Apache-2.0
//
// Kullback-Leibler divergence of two tensors read as distributions: each side is mapped to 0..1 by
// its own extremes, raised to a smallest share, and divided by its sum. The extremes come from the
// first pass.
#pragma once

#include "metrics/accumulator.h"
#include "metrics/kl_block.h"

namespace plumb::metrics {

struct KlSums {
  explicit KlSums(const PairSums& first);

  double scale;                 // 2^-exponent of the first pass
  ShareMap t_map, g_map;        // a constant side is left as it is
  double t_sum = 0, g_sum = 0;  // of the shares
  double log_sum = 0;           // of t_share * ln(t_share / g_share)

  bool is_plain;  // all values are finite, and the scale is 1

  void add(const double* target, const double* golden, int64_t count);  // a block of detail_block.h
  void add(const float* target, const float* golden, int64_t count);
  void add(const KlBlock& block);
  void append(const KlSums& later);
  double divergence() const;  // never below 0
};

extern const Accumulator kKlSums;

// The same of finite values of types that float holds, in a third of the time if the sides are
// alike, good to eight decimals or so: for whoever shows fewer.
struct RoughKlSums : KlSums {
  explicit RoughKlSums(const PairSums& first);
  bool in_floats;  // else the sides differ much, or values are too large or too close for floats

  void add(const PairPiece& piece);
  void append(const RoughKlSums& later) { KlSums::append(later); }
};

}  // namespace plumb::metrics
