// SPDX-License-Identifier: Apache-2.0
#include "metrics/block_stats.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/block_stats.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most 8 doubles: kLanes is a whole number of them on every target.
using Doubles = hn::CappedTag<double, 8>;

template <class T>
HWY_INLINE hn::Vec<Doubles> load(Doubles d, const T* from) {
  if constexpr (sizeof(T) == 4) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, Doubles>(), from));
  } else {
    return hn::LoadU(d, from);
  }
}

// Adds the lanes pairwise: 16 -> 8 -> 4 -> 2 -> 1, lane i with lane i + half.
HWY_INLINE double fold(double* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

template <class T>
HWY_INLINE BlockStats Block(const T* values, int64_t count) {
  const Doubles d;
  constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(Doubles()));
  constexpr int64_t kVectors = kLanes / kWidth;
  using Vec = hn::Vec<Doubles>;
  HWY_ALIGN double lanes[kLanes];
  const int64_t whole = count / kLanes * kLanes;

  Vec sum[kVectors];
  for (Vec& s : sum) s = hn::Zero(d);
  // Extremes and zeros do not depend on the order, so they may go by the type's own width.
  const hn::ScalableTag<T> t;
  const int64_t wide = static_cast<int64_t>(hn::Lanes(t));
  auto lowest = hn::Set(t, values[0]);
  auto highest = lowest;
  int64_t zeros = 0;
  int64_t i = 0;
  for (; i < whole; i += kLanes)
    for (int64_t v = 0; v < kVectors; ++v)
      sum[v] = hn::Add(sum[v], load(d, values + i + v * kWidth));
  for (int64_t v = 0; v < kVectors; ++v) hn::Store(sum[v], d, lanes + v * kWidth);
  for (; i < count; ++i) lanes[i - whole] += static_cast<double>(values[i]);
  BlockStats stats;
  stats.sum = fold(lanes);
  stats.finite = std::isfinite(stats.sum);
  if (!stats.finite) return stats;

  for (i = 0; i + wide <= count; i += wide) {
    const auto x = hn::LoadU(t, values + i);
    lowest = hn::Min(lowest, x);
    highest = hn::Max(highest, x);
    zeros += static_cast<int64_t>(hn::CountTrue(t, hn::Eq(x, hn::Zero(t))));
  }
  T low = hn::GetLane(hn::MinOfLanes(t, lowest));
  T high = hn::GetLane(hn::MaxOfLanes(t, highest));
  for (; i < count; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    zeros += values[i] == 0;
  }
  stats.min = static_cast<double>(low);
  stats.max = static_cast<double>(high);
  stats.zeros = zeros;

  const double mean = stats.sum / static_cast<double>(count);
  const Vec center = hn::Set(d, mean);
  HWY_ALIGN double deviations[kLanes];
  Vec squares[kVectors], around[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) squares[v] = around[v] = hn::Zero(d);
  for (i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec x = load(d, values + i + v * kWidth);
      const Vec from = hn::Sub(x, center);
      squares[v] = hn::Add(squares[v], hn::Mul(x, x));
      around[v] = hn::Add(around[v], hn::Mul(from, from));
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::Store(squares[v], d, lanes + v * kWidth);
    hn::Store(around[v], d, deviations + v * kWidth);
  }
  for (; i < count; ++i) {
    const double x = static_cast<double>(values[i]);
    lanes[i - whole] += x * x;
    deviations[i - whole] += (x - mean) * (x - mean);
  }
  stats.sum_squares = fold(lanes);
  stats.squared_deviations = fold(deviations);
  return stats;
}

BlockStats BlockFloat(const float* values, int64_t count) { return Block(values, count); }
BlockStats BlockDouble(const double* values, int64_t count) { return Block(values, count); }

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(BlockFloat);
HWY_EXPORT(BlockDouble);

double fold_lanes(double* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

// The definition, one value at a time.
template <class T>
BlockStats reference(const T* values, int64_t count) {
  double sums[kLanes] = {}, squares[kLanes] = {}, deviations[kLanes] = {};
  BlockStats stats;
  for (int64_t i = 0; i < count; ++i) sums[i % kLanes] += static_cast<double>(values[i]);
  stats.sum = fold_lanes(sums);
  stats.finite = std::isfinite(stats.sum);
  if (!stats.finite) return stats;
  const double mean = stats.sum / static_cast<double>(count);
  T low = values[0], high = values[0];
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[i]);
    squares[i % kLanes] += x * x;
    deviations[i % kLanes] += (x - mean) * (x - mean);
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    stats.zeros += values[i] == 0;
  }
  stats.min = static_cast<double>(low);
  stats.max = static_cast<double>(high);
  stats.sum_squares = fold_lanes(squares);
  stats.squared_deviations = fold_lanes(deviations);
  return stats;
}

}  // namespace

BlockStats block_stats(const float* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(BlockFloat)(values, count);
}
BlockStats block_stats(const double* values, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(BlockDouble)(values, count);
}
BlockStats block_stats_scalar(const float* values, int64_t count) {
  return reference(values, count);
}
BlockStats block_stats_scalar(const double* values, int64_t count) {
  return reference(values, count);
}

}  // namespace plumb::metrics
#endif
