// SPDX-License-Identifier: Apache-2.0
#include "metrics/detail_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/simd.h"
#include "metrics/lanes.h"

#ifndef PLUMB_DETAIL_TERMS  // this file is compiled once for every instruction set
#define PLUMB_DETAIL_TERMS
namespace plumb::metrics {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

inline int64_t float_place(double value) {  // what lies beyond float32 is one step beyond
  const double within = std::clamp(value, -kLargestFloat, kLargestFloat);
  const auto bits = std::bit_cast<int32_t>(static_cast<float>(within));
  const int64_t place = bits < 0 ? -int64_t{bits & 0x7FFFFFFF} : bits;
  return place + (value > kLargestFloat) - (value < -kLargestFloat);
}
inline int64_t at_limit(double value, double low, double high) {
  return value <= low || value >= high;
}
inline int64_t float_steps(double t, double g) {
  return both_finite(t, g) ? std::abs(float_place(t) - float_place(g)) : 0;
}
inline double in_steps(double value, const StepMap& map) {
  return (value * map.scale - map.min) * map.steps;
}
inline double nearest_step(double steps) { return std::trunc(steps + 0.5); }
// Returns by how many steps the target lies beyond.
inline double transport_pair(double t, double g, const StepMap& map, int64_t* surplus) {
  if (!both_finite(t, g)) return 0;
  const double at = in_steps(t, map), within = std::clamp(at, 0.0, map.last);
  ++surplus[static_cast<size_t>(nearest_step(within))];
  --surplus[static_cast<size_t>(nearest_step(in_steps(g, map)))];
  return std::fabs(at - within);
}
}  // namespace plumb::metrics
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/detail_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "metrics/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {

CentredBlock Centred(const double* target, const double* golden, int64_t count, double scale,
                     double t_mean, double g_mean) {
  Sum t_sum, g_sum, tt, gg, tg;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth), g = load(golden + i + v * kWidth);
      const auto finite = both_are_finite(t, g);
      const Vec x = hn::IfThenElseZero(finite, hn::Sub(hn::Mul(t, set(scale)), set(t_mean)));
      const Vec y = hn::IfThenElseZero(finite, hn::Sub(hn::Mul(g, set(scale)), set(g_mean)));
      t_sum.add(v, x);
      g_sum.add(v, y);
      tt.add(v, hn::Mul(x, x));
      gg.add(v, hn::Mul(y, y));
      tg.add(v, hn::Mul(x, y));
    }
  }
  const double *t = target + whole, *g = golden + whole;
  const auto x_at = [&](int64_t i) { return both_finite(t[i], g[i]) ? t[i] * scale - t_mean : 0; };
  const auto y_at = [&](int64_t i) { return both_finite(t[i], g[i]) ? g[i] * scale - g_mean : 0; };
  const int64_t tail = count - whole;
  return {t_sum.fold(tail, x_at), g_sum.fold(tail, y_at),
          tt.fold(tail, [&](int64_t i) { return x_at(i) * x_at(i); }),
          gg.fold(tail, [&](int64_t i) { return y_at(i) * y_at(i); }),
          tg.fold(tail, [&](int64_t i) { return x_at(i) * y_at(i); })};
}

int64_t FloatSteps(const double* target, const double* golden, int64_t count) {
  const hn::Rebind<float, Doubles> floats;
  const hn::Rebind<int32_t, Doubles> words;
  const hn::RebindToSigned<Doubles> longs;
  const auto places = [&](Vec values) HWY_ATTR {
    const Vec within = hn::Min(hn::Max(values, set(-kLargestFloat)), set(kLargestFloat));
    const auto bits = hn::BitCast(words, hn::DemoteTo(floats, within));
    const auto size = hn::And(bits, hn::Set(words, 0x7FFFFFFF));
    const auto place =
        hn::PromoteTo(longs, hn::IfThenElse(hn::Lt(bits, hn::Zero(words)), hn::Neg(size), size));
    // A mask is minus one where it is true.
    const auto minus_ones = [&](hn::Mask<Doubles> mask)
                                HWY_ATTR { return hn::BitCast(longs, hn::VecFromMask(mask)); };
    return hn::Add(hn::Sub(place, minus_ones(hn::Gt(values, set(kLargestFloat)))),
                   minus_ones(hn::Lt(values, set(-kLargestFloat))));
  };
  auto most = hn::Zero(longs);
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec t = load(target + i), g = load(golden + i);
    const auto finite = both_are_finite(t, g);
    const auto steps = hn::Abs(
        hn::Sub(places(hn::IfThenElseZero(finite, t)), places(hn::IfThenElseZero(finite, g))));
    most = hn::Max(most, steps);
  }
  int64_t largest = hn::GetLane(hn::MaxOfLanes(longs, most));
  for (; i < count; ++i) largest = std::max(largest, float_steps(target[i], golden[i]));
  return largest;
}

int64_t FloatStepsOfFloats(const float* target, const float* golden, int64_t count) {
  const hn::ScalableTag<float> tag;
  const hn::RebindToSigned<decltype(tag)> ints;
  const hn::RebindToUnsigned<decltype(tag)> words;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const auto largest_float = hn::Set(tag, std::numeric_limits<float>::max());
  const auto places = [&](auto values) HWY_ATTR {
    const auto bits = hn::BitCast(ints, values);
    const auto size = hn::And(bits, hn::Set(ints, 0x7FFFFFFF));
    return hn::IfThenElse(hn::Lt(bits, hn::Zero(ints)), hn::Neg(size), size);
  };
  auto most = hn::Zero(words);
  int64_t i = 0;
  for (; i + wide <= count; i += wide) {
    const auto t = hn::LoadU(tag, target + i), g = hn::LoadU(tag, golden + i);
    const auto finite =
        hn::And(hn::Le(hn::Abs(t), largest_float), hn::Le(hn::Abs(g), largest_float));
    const auto a = places(hn::IfThenElseZero(finite, t));
    const auto b = places(hn::IfThenElseZero(finite, g));
    // Two of opposite sign are further apart than a signed number says.
    const auto steps = hn::Sub(hn::Max(a, b), hn::Min(a, b));
    most = hn::Max(most, hn::BitCast(words, steps));
  }
  int64_t found = static_cast<int64_t>(hn::GetLane(hn::MaxOfLanes(words, most)));
  for (; i < count; ++i)
    found = std::max(found,
                     float_steps(static_cast<double>(target[i]), static_cast<double>(golden[i])));
  return found;
}

template <class T>
HWY_INLINE double TransportOf(const T* target, const T* golden, int64_t count, const StepMap& map,
                              int64_t* surplus) {
  const hn::Rebind<int32_t, Doubles> words;
  const Vec scale = set(map.scale), min = set(map.min), factor = set(map.steps);
  const auto steps = [&](Vec values)
                         HWY_ATTR { return hn::Mul(hn::Sub(hn::Mul(values, scale), min), factor); };
  // Which moves there are is hard to foresee: they are put in a row first.
  HWY_ALIGN int32_t tos[kDetailBlock + kLanes], froms[kDetailBlock + kLanes];
  size_t moved = 0;
  Sum beyond;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth), g = load(golden + i + v * kWidth);
      const auto finite = both_are_finite(t, g);
      const Vec at = steps(t), within = hn::Min(hn::Max(at, set(0)), set(map.last));
      beyond.add(v, hn::IfThenElseZero(finite, hn::Abs(hn::Sub(at, within))));
      const auto nearest = [&](Vec place) HWY_ATTR {
        return hn::DemoteTo(words, hn::IfThenElseZero(finite, hn::Add(place, set(0.5))));
      };
      const auto to = nearest(within), from = nearest(steps(g));
      const auto moves = hn::Ne(to, from);
      if (hn::AllFalse(words, moves)) continue;
      hn::CompressStore(to, moves, words, tos + moved);
      moved += hn::CompressStore(from, moves, words, froms + moved);
    }
  }
  for (size_t i = 0; i < moved; ++i) {
    ++surplus[static_cast<size_t>(tos[i])];
    --surplus[static_cast<size_t>(froms[i])];
  }
  return beyond.fold(count - whole, [&](int64_t i) {
    return transport_pair(static_cast<double>(target[whole + i]),
                          static_cast<double>(golden[whole + i]), map, surplus);
  });
}
double Transport(const double* target, const double* golden, int64_t count, const StepMap& map,
                 int64_t* surplus) {
  return TransportOf(target, golden, count, map, surplus);
}
double TransportOfFloats(const float* target, const float* golden, int64_t count,
                         const StepMap& map, int64_t* surplus) {
  return TransportOf(target, golden, count, map, surplus);
}

int64_t AtLimit(const double* values, int64_t count, double low, double high) {
  int64_t found = 0, i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec value = load(values + i);
    found += static_cast<int64_t>(
        hn::CountTrue(Doubles(), hn::Or(hn::Le(value, set(low)), hn::Ge(value, set(high)))));
  }
  for (; i < count; ++i) found += at_limit(values[i], low, high);
  return found;
}

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(Centred);
HWY_EXPORT(FloatSteps);
HWY_EXPORT(FloatStepsOfFloats);
HWY_EXPORT(Transport);
HWY_EXPORT(TransportOfFloats);
HWY_EXPORT(AtLimit);

}  // namespace

namespace reference {

CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean) {
  LaneSum t_sum, g_sum, tt, gg, tg;
  for (int64_t i = 0; i < count; ++i) {
    if (!both_finite(target[i], golden[i])) continue;
    const double x = target[i] * scale - t_mean, y = golden[i] * scale - g_mean;
    t_sum.add(i, x);
    g_sum.add(i, y);
    tt.add(i, x * x);
    gg.add(i, y * y);
    tg.add(i, x * y);
  }
  return {t_sum.total(), g_sum.total(), tt.total(), gg.total(), tg.total()};
}

int64_t float_steps_block(const double* target, const double* golden, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, float_steps(target[i], golden[i]));
  return most;
}

int64_t float_steps_block(const float* target, const float* golden, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most =
        std::max(most, float_steps(static_cast<double>(target[i]), static_cast<double>(golden[i])));
  return most;
}

template <class T>
double transport_of(const T* target, const T* golden, int64_t count, const StepMap& map,
                    int64_t* surplus) {
  LaneSum beyond;
  for (int64_t i = 0; i < count; ++i)
    beyond.add(i, transport_pair(static_cast<double>(target[i]), static_cast<double>(golden[i]),
                                 map, surplus));
  return beyond.total();
}
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus) {
  return transport_of(target, golden, count, map, surplus);
}
double transport_block(const float* target, const float* golden, int64_t count, const StepMap& map,
                       int64_t* surplus) {
  return transport_of(target, golden, count, map, surplus);
}

int64_t at_limit_block(const double* values, int64_t count, double low, double high) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += at_limit(values[i], low, high);
  return found;
}

}  // namespace reference

CentredBlock centred_block(const double* target, const double* golden, int64_t count, double scale,
                           double t_mean, double g_mean) {
  return simd_allowed()
             ? HWY_DYNAMIC_DISPATCH(Centred)(target, golden, count, scale, t_mean, g_mean)
             : reference::centred_block(target, golden, count, scale, t_mean, g_mean);
}
int64_t float_steps_block(const double* target, const double* golden, int64_t count) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(FloatSteps)(target, golden, count)
                        : reference::float_steps_block(target, golden, count);
}
int64_t float_steps_block(const float* target, const float* golden, int64_t count) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(FloatStepsOfFloats)(target, golden, count)
                        : reference::float_steps_block(target, golden, count);
}
double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Transport)(target, golden, count, map, surplus)
                        : reference::transport_block(target, golden, count, map, surplus);
}
double transport_block(const float* target, const float* golden, int64_t count, const StepMap& map,
                       int64_t* surplus) {
  return simd_allowed()
             ? HWY_DYNAMIC_DISPATCH(TransportOfFloats)(target, golden, count, map, surplus)
             : reference::transport_block(target, golden, count, map, surplus);
}
int64_t at_limit_block(const double* values, int64_t count, double low, double high) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(AtLimit)(values, count, low, high)
                        : reference::at_limit_block(values, count, low, high);
}

}  // namespace plumb::metrics
#endif
