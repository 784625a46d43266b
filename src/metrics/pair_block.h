// SPDX-License-Identifier: Apache-2.0
//
// The kernel under pair_sums: a block of value pairs that fits the first-level cache. Sums
// run over the lanes of lanes.h. Products are fused with the addition only where they are exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumb::metrics {

inline constexpr int64_t kPairBlock = 1024;  // at most this many pairs at a time

// t is the target's value, g the golden one, d = t - g.
struct PairBlock {
  int64_t count = 0;
  double t_sum = 0, g_sum = 0, tt = 0, gg = 0;
  double tg = 0;  // only if it was asked for
  double dd = 0, abs_sum = 0;
  double rel_sum = 0;  // only if it was asked for
  double t_min = 0, t_max = 0, g_min = 0, g_max = 0;
  int64_t rel_below_1e3 = 0, rel_below_5e3 = 0, off_at_zero = 0, off_by_half = 0, equal = 0;
  int64_t t_zeros = 0, g_zeros = 0;
  bool finite =
      true;  // false: some value is NaN or infinite, or a sum overflows; the rest is not set
};

// Largest errors so far. The kernel looks closer only at blocks that may exceed them.
struct PairMaxima {
  double abs = 0;
  double rel = 0;
};

// Where the values of the next block are stored: asked for little by little while this one is being
// worked on. All at once would keep a core waiting that can ask for some twenty lines at a time.
struct Ahead {
  const std::byte* bytes = nullptr;
  int64_t item = 0;  // bytes of a value
};

// What to take beyond the sums that cost next to nothing.
struct PairParts {
  bool relative = false;  // the sum
  bool products = false;
  bool shares = false;
  double least_golden = 0;    // no relative errors where |golden| is not above it
  double* squares = nullptr;  // adds the squares of errors to these, unless the block is not finite
  Ahead t_ahead = {}, g_ahead = {};
};

// 0 < count <= kPairBlock. Raises `maxima` (unless the block is not finite). What
// `parts` does not ask for stays zero.
PairBlock pair_block(const float* target, const float* golden, int64_t count, PairParts parts,
                     PairMaxima& maxima);
PairBlock pair_block(const double* target, const double* golden, int64_t count, PairParts parts,
                     PairMaxima& maxima);
// The pairs that PairBlock::off_by_half counts: writes their places, in order, and returns their
// number.
int64_t find_off_by_half(const float* target, const float* golden, int64_t count, uint16_t* places);
int64_t find_off_by_half(const double* target, const double* golden, int64_t count,
                         uint16_t* places);
// The reference. It sets everything even if a sum overflows, which `force` asks for: the values are
// finite then.
PairBlock pair_block_scalar(const float* target, const float* golden, int64_t count,
                            PairParts parts, PairMaxima& maxima, bool force = false);
PairBlock pair_block_scalar(const double* target, const double* golden, int64_t count,
                            PairParts parts, PairMaxima& maxima, bool force = false);

}  // namespace plumb::metrics
