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

// Whose values a double does not all hold.
inline bool is_wide_integer(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kUint64;
}

// Asks for the bytes of the next block while this one is being worked on: a quarter to a third
// faster from main memory. Harmless beyond the end.
inline void prefetch(const std::byte* data, int64_t size) {
  constexpr int64_t kCacheLine = 64;
  for (int64_t i = 0; i < size; i += kCacheLine) __builtin_prefetch(data + i, 0, 2);
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

inline constexpr int64_t kFloatBlock = 1024;
// The same as floats, which hold every value of both types: as they lie, if they are floats.
template <int64_t kValues = kFloatBlock, class Visit>
void for_each_float_block(const PairPiece& piece, Visit&& visit) {
  alignas(64) float t_room[kValues], g_room[kValues];
  const DType t_type = part_of(piece.target_dtype), g_type = part_of(piece.golden_dtype);
  const int64_t count = t_type == piece.target_dtype ? piece.count : 2 * piece.count;
  const auto floats = [](DType dtype, const std::byte* data, int64_t n, float* room) {
    if (dtype == DType::kFloat32 && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0)
      return reinterpret_cast<const float*>(data);
    decode_float(dtype, data, n, room);
    return static_cast<const float*>(room);
  };
  for (int64_t first = 0; first < count; first += kValues) {
    const int64_t n = std::min(kValues, count - first);
    const float* t = floats(t_type, piece.target + first * (bits_of(t_type) / 8), n, t_room);
    const float* g = floats(g_type, piece.golden + first * (bits_of(g_type) / 8), n, g_room);
    prefetch(piece.target + (first + n) * (bits_of(t_type) / 8), n * (bits_of(t_type) / 8));
    prefetch(piece.golden + (first + n) * (bits_of(g_type) / 8), n * (bits_of(g_type) / 8));
    visit(t, g, n);
  }
}

}  // namespace plumb::metrics
