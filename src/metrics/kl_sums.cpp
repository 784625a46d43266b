// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_sums.h"

#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

ShareMap map_of(double min, double max) {
  return max > min ? ShareMap{min, 1 / (max - min)} : ShareMap{};
}

}  // namespace

KlSums::KlSums(const PairSums& first)
    : scale(std::ldexp(1.0, -first.exponent)),
      t_map(map_of(first.t_min * scale, first.t_max * scale)),
      g_map(map_of(first.g_min * scale, first.g_max * scale)) {}

void KlSums::add(const double* target, const double* golden, int64_t count) {
  const KlBlock block = kl_block(target, golden, count, scale, t_map, g_map);
  t_sum += block.t_sum;
  g_sum += block.g_sum;
  log_sum += block.log_sum;
}

void KlSums::append(const KlSums& later) {
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  log_sum += later.log_sum;
}

// With P and Q the sums of the shares p and q: sum of p/P ln((p/P) / (q/Q)).
double KlSums::divergence() const {
  if (t_sum == 0) return 0;  // no pair at all
  const double divergence = log_sum / t_sum - log_ratio(t_sum, g_sum);
  return divergence < std::numeric_limits<double>::epsilon() ? 0 : divergence;
}

RoughKlSums::RoughKlSums(const PairSums& first) : KlSums(first) {
  constexpr double kSmall = 0x1p-100, kLarge = 0x1p100;
  const auto fits = [](double min, double max) {
    const double range = max - min;
    return min > -kLarge && max < kLarge && (range == 0 || range > kSmall);
  };
  constexpr double kAlike = 0x1p-8;  // else the divergence is large, and so are its errors
  in_floats = first.dd < kAlike * std::min(first.tt, first.gg) && first.exponent == 0 &&
              fits(first.t_min, first.t_max) && fits(first.g_min, first.g_max);
}

void RoughKlSums::add(const PairPiece& piece) {
  if (!in_floats)
    return for_each_block(
        piece, [&](const double* t, const double* g, int64_t count) { KlSums::add(t, g, count); });
  alignas(64) float t_room[kDetailBlock], g_room[kDetailBlock];
  const auto floats = [](DType dtype, const std::byte* data, int64_t count, float* room) {
    if (dtype == DType::kFloat32 && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0)
      return reinterpret_cast<const float*>(data);
    decode_float(dtype, data, count, room);
    return static_cast<const float*>(room);
  };
  const int64_t t_item = bits_of(piece.target_dtype) / 8, g_item = bits_of(piece.golden_dtype) / 8;
  for (int64_t first = 0; first < piece.count; first += kDetailBlock) {
    const int64_t n = std::min(kDetailBlock, piece.count - first);
    const float* t = floats(piece.target_dtype, piece.target + first * t_item, n, t_room);
    const float* g = floats(piece.golden_dtype, piece.golden + first * g_item, n, g_room);
    prefetch(piece.target + (first + n) * t_item, n * t_item);
    prefetch(piece.golden + (first + n) * g_item, n * g_item);
    const KlBlock block = kl_block(t, g, n, t_map, g_map);
    t_sum += block.t_sum;
    g_sum += block.g_sum;
    log_sum += block.log_sum;
  }
}

constinit const Accumulator kKlSums{
    [](const PairFacts& first, bool) { return accumulated(KlSums(first.sums)); }};

}  // namespace plumb::metrics
