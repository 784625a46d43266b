// SPDX-License-Identifier: Apache-2.0
//
// One pass over two tensors for formulas that are not ours, element by element.
#pragma once

#include <algorithm>
#include <vector>

#include "compare/gather.h"
#include "tensor/decode.h"

namespace plumb::msprobe {

// Calls add(total, t, g) for every pair of elements; totals of pieces are appended in their order.
template <class Total, class Add>
Result<Total> fold(dump::EntryReader& target, dump::EntryReader& golden, const RunContext& context,
                   bool counts_as_progress, Add&& add) {
  Total total;
  std::vector<Total> chunks(compare::kWindow);
  const auto work = [&](size_t chunk, int64_t, const metrics::PairPiece& piece) {
    constexpr int64_t kBlock = 1024;
    double t[kBlock], g[kBlock];
    const int64_t t_bytes = bits_of(piece.target_dtype) / 8;
    const int64_t g_bytes = bits_of(piece.golden_dtype) / 8;
    for (int64_t at = 0; at < piece.count; at += kBlock) {
      const int64_t count = std::min(kBlock, piece.count - at);
      decode_double(piece.target_dtype, piece.target + at * t_bytes, count, t);
      decode_double(piece.golden_dtype, piece.golden + at * g_bytes, count, g);
      for (int64_t i = 0; i < count; ++i) add(chunks[chunk], t[i], g[i]);
    }
  };
  const auto merge = [&](size_t chunk) {
    total.append(chunks[chunk]);
    chunks[chunk] = Total();
  };
  auto done =
      compare::for_each_pair_piece(target, golden, context, counts_as_progress, work, merge);
  if (!done) return done.error();
  return total;
}

}  // namespace plumb::msprobe
