// SPDX-License-Identifier: Apache-2.0
#include "metrics/block_stats.h"

#include <cmath>

#include "base/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/block_stats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "metrics/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {

template <class T>
HWY_INLINE BlockStats Block(const T* values, int64_t count, double centre) {
  const Vec middle = hn::Set(Doubles(), centre);
  Sum sum, deviations, squares;
  // Extremes and zeros do not depend on the order, so they go by the type's own width.
  const hn::CappedTag<T, kLanes> tag;
  constexpr int64_t kWide = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<T, kLanes>()));
  auto low = hn::Set(tag, values[0]), high = low;
  const hn::RebindToSigned<decltype(tag)> ints;
  auto zeros = hn::Zero(ints);

  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec x = load(values + i + v * kWidth);
      const Vec d = hn::Sub(x, middle);
      sum.add(v, d);
      deviations.add(v, hn::Mul(d, d));
      squares.add(v, hn::Mul(x, x));
    }
    for (int64_t v = 0; v < kLanes / kWide; ++v) {
      const auto x = hn::LoadU(tag, values + i + v * kWide);
      low = hn::Min(low, x);
      high = hn::Max(high, x);
      zeros = hn::Sub(zeros, hn::BitCast(ints, hn::VecFromMask(tag, hn::Eq(x, hn::Zero(tag)))));
    }
  }
  const T* rest = values + whole;
  const int64_t tail = count - whole;
  const auto d_at = [&](int64_t i) { return static_cast<double>(rest[i]) - centre; };
  BlockStats stats;
  stats.offset_sum = sum.fold(tail, d_at);
  stats.offset_sum_squares = deviations.fold(tail, [&](int64_t i) { return d_at(i) * d_at(i); });
  stats.sum_squares = squares.fold(
      tail, [&](int64_t i) { return static_cast<double>(rest[i]) * static_cast<double>(rest[i]); });
  stats.finite = std::isfinite(stats.offset_sum);
  T min = hn::GetLane(hn::MinOfLanes(tag, low));
  T max = hn::GetLane(hn::MaxOfLanes(tag, high));
  stats.zeros = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(ints, zeros)));
  for (int64_t i = 0; i < tail; ++i) {
    min = rest[i] < min ? rest[i] : min;
    max = rest[i] > max ? rest[i] : max;
    stats.zeros += rest[i] == 0;
  }
  stats.min = static_cast<double>(min);
  stats.max = static_cast<double>(max);
  return stats;
}

BlockStats BlockFloat(const float* values, int64_t count, double centre) {
  return Block(values, count, centre);
}
BlockStats BlockDouble(const double* values, int64_t count, double centre) {
  return Block(values, count, centre);
}

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(BlockFloat);
HWY_EXPORT(BlockDouble);

// The definition, one value at a time.
template <class T>
BlockStats reference(const T* values, int64_t count, double centre) {
  LaneSum sum, deviations, squares;
  T min = values[0], max = values[0];
  BlockStats stats;
  for (int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(values[i]);
    const double d = x - centre;
    sum.add(i, d);
    deviations.add(i, d * d);
    squares.add(i, x * x);
    min = values[i] < min ? values[i] : min;
    max = values[i] > max ? values[i] : max;
    stats.zeros += values[i] == 0;
  }
  stats.offset_sum = sum.total();
  stats.finite = std::isfinite(stats.offset_sum);
  stats.offset_sum_squares = deviations.total();
  stats.sum_squares = squares.total();
  stats.min = static_cast<double>(min);
  stats.max = static_cast<double>(max);
  return stats;
}

}  // namespace

BlockStats block_stats(const float* values, int64_t count, double centre) {
  if (!simd_allowed()) return reference(values, count, centre);
  return HWY_DYNAMIC_DISPATCH(BlockFloat)(values, count, centre);
}
BlockStats block_stats(const double* values, int64_t count, double centre) {
  if (!simd_allowed()) return reference(values, count, centre);
  return HWY_DYNAMIC_DISPATCH(BlockDouble)(values, count, centre);
}
BlockStats block_stats_scalar(const float* values, int64_t count, double centre) {
  return reference(values, count, centre);
}
BlockStats block_stats_scalar(const double* values, int64_t count, double centre) {
  return reference(values, count, centre);
}

}  // namespace plumb::metrics
#endif
