// SPDX-License-Identifier: Apache-2.0
//
// The pairs of a piece as doubles, block by block, for passes that are plain loops. The parts of a
// complex number are two values.
#pragma once

#include <algorithm>

#include "metrics/detail_block.h"
#include "metrics/pair_sums.h"
#include "tensor/decode.h"

namespace plumb::metrics {

// The type of the numbers that an element consists of.
inline DType part_of(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

// Calls visit(const double* target, const double* golden, int64_t count) until all were seen.
template <class Visit>
void for_each_block(const PairPiece& piece, Visit&& visit) {
  constexpr int64_t kValues = kDetailBlock;
  alignas(64) double t[kValues], g[kValues];
  const DType t_type = part_of(piece.target_dtype), g_type = part_of(piece.golden_dtype);
  const int64_t count = t_type == piece.target_dtype ? piece.count : 2 * piece.count;
  for (int64_t first = 0; first < count; first += kValues) {
    const int64_t n = std::min(kValues, count - first);
    decode_double(t_type, piece.target + first * (bits_of(t_type) / 8), n, t);
    decode_double(g_type, piece.golden + first * (bits_of(g_type) / 8), n, g);
    visit(t, g, n);
  }
}

}  // namespace plumb::metrics
