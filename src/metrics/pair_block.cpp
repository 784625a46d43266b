// SPDX-License-Identifier: Apache-2.0
//
// Sums run in double. Extremes, counts and the search for the largest errors run in the type of the
// values, for floats twice as many at a time: what is not exact there is only used to tell that a
// block cannot matter, and a comparison that rounding could tip is made again in double.
#include "metrics/pair_block.h"

#include <cmath>

#include "base/simd.h"

#ifndef PLUMB_OFF_BY_HALF  // this file is compiled once for every instruction set
#define PLUMB_OFF_BY_HALF
namespace plumb::metrics {
template <class T>
inline bool is_off_by_half(T target, T golden) {
  return golden != 0 && std::fabs(target - golden) > std::fabs(golden) * T(0.5);
}
}  // namespace plumb::metrics
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/pair_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "metrics/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {

// x * y + sum. The product of two floats is exact in double, so that fusing changes nothing.
template <class T>
HWY_INLINE Vec add_product(Vec x, Vec y, Vec sum) {
  if constexpr (sizeof(T) == 4) {
    return hn::MulAdd(x, y, sum);
  } else {
    return hn::Add(hn::Mul(x, y), sum);
  }
}

HWY_INLINE void ask_for(const Ahead& ahead, int64_t i) {
  __builtin_prefetch(ahead.bytes + i * ahead.item, 0, 2);  // harmless beyond the end
}

// Sums of products have a loop of their own: with them there would be more sums than registers.
template <class T>
HWY_INLINE double sum_products(const T* target, const T* golden, int64_t count) {
  const int64_t whole = count / kLanes * kLanes;
  Sum tg;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t v = 0; v < kVectors; ++v)
      tg.vectors[v] = add_product<T>(load(target + i + v * kWidth), load(golden + i + v * kWidth),
                                     tg.vectors[v]);
  return tg.fold(count - whole, [&](int64_t i) {
    return static_cast<double>(target[whole + i]) * static_cast<double>(golden[whole + i]);
  });
}

// |t - g| / |g| where |g| is above `least`. A division keeps a unit busy that nothing else here
// needs: beside the other sums it costs little.
HWY_INLINE Vec ratios(Vec error, Vec g, Vec least) {
  const Vec size = hn::Abs(g);
  return hn::IfThenElseZero(hn::Gt(size, least), hn::Div(error, size));
}
inline double ratio(double error, double g, double least) {
  const double size = std::fabs(g);
  return size > least ? error / size : 0.0;
}

template <bool kRelative, class T>
HWY_INLINE void add_sums(const T* target, const T* golden, int64_t count, const PairParts& parts,
                         PairBlock& block) {
  const double least_golden = parts.least_golden;
  const int64_t whole = count / kLanes * kLanes;
  const Vec least = hn::Set(Doubles(), least_golden);
  Sum t_sum, g_sum, tt, gg, dd, abs_sum, rel;
  for (int64_t i = 0; i < whole; i += kLanes) {
    ask_for(parts.t_ahead, i);
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth);
      const Vec g = load(golden + i + v * kWidth);
      const Vec d = hn::Sub(t, g);
      t_sum.add(v, t);
      g_sum.add(v, g);
      tt.vectors[v] = add_product<T>(t, t, tt.vectors[v]);
      gg.vectors[v] = add_product<T>(g, g, gg.vectors[v]);
      dd.add(v, hn::Mul(d, d));
      abs_sum.add(v, hn::Abs(d));
      if constexpr (kRelative) rel.add(v, ratios(hn::Abs(d), g, least));
    }
  }
  const auto t_at = [&](int64_t i) { return static_cast<double>(target[whole + i]); };
  const auto g_at = [&](int64_t i) { return static_cast<double>(golden[whole + i]); };
  const auto d_at = [&](int64_t i) { return t_at(i) - g_at(i); };
  const int64_t tail = count - whole;
  block.t_sum = t_sum.fold(tail, t_at);
  block.g_sum = g_sum.fold(tail, g_at);
  block.tt = tt.fold(tail, [&](int64_t i) { return t_at(i) * t_at(i); });
  block.gg = gg.fold(tail, [&](int64_t i) { return g_at(i) * g_at(i); });
  block.dd = dd.fold(tail, [&](int64_t i) { return d_at(i) * d_at(i); });
  block.abs_sum = abs_sum.fold(tail, [&](int64_t i) { return std::fabs(d_at(i)); });
  if constexpr (kRelative)
    block.rel_sum =
        rel.fold(tail, [&](int64_t i) { return ratio(std::fabs(d_at(i)), g_at(i), least_golden); });
  block.finite = std::isfinite(block.t_sum) && std::isfinite(block.g_sum);
}

// The counts and maxima by their definition, for tails and for blocks where rounding matters.
template <class T>
HWY_INLINE void count_exactly(const T* target, const T* golden, int64_t count, PairBlock& block) {
  for (int64_t i = 0; i < count; ++i) {
    const auto g = static_cast<double>(golden[i]);
    const double error = std::fabs(static_cast<double>(target[i]) - g), size = std::fabs(g);
    block.rel_below_1e3 += error == 0 || error < size * 0.001;
    block.rel_below_5e3 += error == 0 || error < size * 0.005;
  }
}
template <class T>
HWY_INLINE void raise_exactly(const T* target, const T* golden, int64_t count, double least_golden,
                              PairMaxima& maxima) {
  const Vec least = hn::Set(Doubles(), least_golden);
  Vec abs_max = hn::Set(Doubles(), maxima.abs), rel_max = hn::Set(Doubles(), maxima.rel);
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec g = load(golden + i);
    const Vec error = hn::Abs(hn::Sub(load(target + i), g));
    abs_max = hn::Max(abs_max, error);
    rel_max = hn::Max(rel_max, ratios(error, g, least));
  }
  maxima.abs = hn::GetLane(hn::MaxOfLanes(Doubles(), abs_max));
  maxima.rel = hn::GetLane(hn::MaxOfLanes(Doubles(), rel_max));
  for (; i < count; ++i) {
    const auto g = static_cast<double>(golden[i]);
    const double error = std::fabs(static_cast<double>(target[i]) - g);
    maxima.abs = std::fmax(maxima.abs, error);
    maxima.rel = std::fmax(maxima.rel, ratio(error, g, least_golden));
  }
}

// Extremes, zeros and equal pairs: exact in T itself.
template <class T>
HWY_INLINE void add_tail(const T* target, const T* golden, int64_t count, PairBlock& block) {
  for (int64_t i = 0; i < count; ++i) {
    const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
    block.t_min = t < block.t_min ? t : block.t_min;
    block.t_max = t > block.t_max ? t : block.t_max;
    block.g_min = g < block.g_min ? g : block.g_min;
    block.g_max = g > block.g_max ? g : block.g_max;
    block.t_zeros += t == 0;
    block.g_zeros += g == 0;
    block.equal += t == g;
    block.off_at_zero += g == 0 && t != 0;
    block.off_by_half += is_off_by_half(target[i], golden[i]);
  }
}

// A comparison in T that rounding could tip is one with less than this between its sides,
// relatively: far wider than the rounding of a few operations on floats.
constexpr double kBand = 0x1p-20;
// For the counts, products with golden values are taken of values times kLift, lest they become
// subnormal, where rounding is coarse. Values from kHuge on would overflow then.
template <class T>
constexpr T kLift = sizeof(T) == 4 ? T(0x1p40) : T(0x1p100);
template <class T>
constexpr double kHuge = sizeof(T) == 4 ? 0x1p80 : 0x1p800;

HWY_INLINE bool is_huge(const PairBlock& block, double limit) {
  return block.t_max >= limit || block.t_min <= -limit || block.g_max >= limit ||
         block.g_min <= -limit;
}

template <class T>
HWY_INLINE void add_squares(const T* target, const T* golden, int64_t count, double* squares) {
  const Doubles tag;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec d = hn::Sub(load(target + i), load(golden + i));
    hn::StoreU(hn::Add(hn::LoadU(tag, squares + i), hn::Mul(d, d)), tag, squares + i);
  }
  for (; i < count; ++i) {
    const double d = static_cast<double>(target[i]) - static_cast<double>(golden[i]);
    squares[i] += d * d;
  }
}

// How many errors are beyond half of golden. Whole vectors only.
template <class T>
HWY_INLINE int64_t count_off(const T* target, const T* golden, int64_t count) {
  const hn::ScalableTag<T> tag;
  const hn::RebindToSigned<decltype(tag)> ints;
  const auto half = hn::Set(tag, T(0.5)), zero = hn::Zero(tag);
  auto off = hn::Zero(ints);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(tag))) {
    const auto g = hn::LoadU(tag, golden + i);
    const auto error = hn::Abs(hn::Sub(hn::LoadU(tag, target + i), g));
    const auto beyond = hn::Gt(error, hn::Mul(hn::Abs(g), half));
    off =
        hn::Sub(off, hn::BitCast(ints, hn::VecFromMask(tag, hn::AndNot(hn::Eq(g, zero), beyond))));
  }
  return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(ints, off)));
}

template <class T>
HWY_INLINE int64_t FindOff(const T* target, const T* golden, int64_t count, uint16_t* places) {
  const hn::ScalableTag<T> tag;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const auto half = hn::Set(tag, T(0.5)), zero = hn::Zero(tag);
  int64_t found = 0, i = 0;
  for (; i + wide <= count; i += wide) {
    const auto g = hn::LoadU(tag, golden + i);
    const auto error = hn::Abs(hn::Sub(hn::LoadU(tag, target + i), g));
    const auto off = hn::AndNot(hn::Eq(g, zero), hn::Gt(error, hn::Mul(hn::Abs(g), half)));
    if (hn::AllFalse(tag, off)) continue;
    for (int64_t k = i; k < i + wide; ++k) {
      places[found] = static_cast<uint16_t>(k);
      found += is_off_by_half(target[k], golden[k]);
    }
  }
  for (; i < count; ++i) {
    places[found] = static_cast<uint16_t>(i);
    found += is_off_by_half(target[i], golden[i]);
  }
  return found;
}
int64_t FindOffFloat(const float* t, const float* g, int64_t n, uint16_t* places) {
  return FindOff(t, g, n, places);
}
int64_t FindOffDouble(const double* t, const double* g, int64_t n, uint16_t* places) {
  return FindOff(t, g, n, places);
}

// As long as no error that large is known, a block without a new maximum has none beyond half of
// golden either, and need not count them: `kCountsOff` is false.
template <bool kCountsOff, class T>
HWY_INLINE void add_extremes(const T* target, const T* golden, int64_t count, double rel_known,
                             const PairParts& parts, PairBlock& block, PairMaxima& maxima) {
  const double least_golden = parts.least_golden;
  const hn::ScalableTag<T> tag;
  const hn::RebindToSigned<decltype(tag)> ints;
  using V = hn::Vec<decltype(tag)>;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const V zero = hn::Zero(tag);
  const V rel_limit = hn::Set(tag, static_cast<T>(rel_known));
  V t_min = hn::Set(tag, target[0]), t_max = t_min, g_min = hn::Set(tag, golden[0]), g_max = g_min;
  V abs_max = zero, rel_excess = zero;  // the latter all ones where there may be a larger one
  const V half = hn::Set(tag, T(0.5));
  auto t_zeros = hn::Zero(ints), g_zeros = t_zeros, equal = t_zeros, both = t_zeros, off = t_zeros;
  // A mask is minus one where it is true.
  const auto minus_ones = [&](auto mask) { return hn::BitCast(ints, hn::VecFromMask(tag, mask)); };
  int64_t i = 0;
  for (; i + wide <= count; i += wide) {
    ask_for(parts.g_ahead, i);
    const V t = hn::LoadU(tag, target + i);
    const V g = hn::LoadU(tag, golden + i);
    t_min = hn::Min(t_min, t);
    t_max = hn::Max(t_max, t);
    g_min = hn::Min(g_min, g);
    g_max = hn::Max(g_max, g);
    const auto g_is_zero = hn::Eq(g, zero);
    const auto t_zero = minus_ones(hn::Eq(t, zero));
    const auto g_zero = minus_ones(g_is_zero);
    t_zeros = hn::Sub(t_zeros, t_zero);
    g_zeros = hn::Sub(g_zeros, g_zero);
    both = hn::Sub(both, hn::And(t_zero, g_zero));
    equal = hn::Sub(equal, minus_ones(hn::Eq(t, g)));
    const V error = hn::Abs(hn::Sub(t, g));
    abs_max = hn::Max(abs_max, error);
    const V size = hn::Abs(g);
    if constexpr (kCountsOff) off = hn::Sub(off, minus_ones(hn::Gt(error, hn::Mul(size, half))));
    const auto may_exceed = hn::Ge(error, hn::Mul(size, rel_limit));
    rel_excess =
        hn::Or(rel_excess, hn::IfThenZeroElse(g_is_zero, hn::VecFromMask(tag, may_exceed)));
  }
  block.t_min = static_cast<double>(hn::GetLane(hn::MinOfLanes(tag, t_min)));
  block.t_max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, t_max)));
  block.g_min = static_cast<double>(hn::GetLane(hn::MinOfLanes(tag, g_min)));
  block.g_max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, g_max)));
  const auto total = [&](auto lanes) {
    return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(ints, lanes)));
  };
  block.t_zeros = total(t_zeros);
  block.g_zeros = total(g_zeros);
  block.equal = total(equal);
  block.off_at_zero = block.g_zeros - total(both);
  const bool excess = !hn::AllTrue(ints, hn::Eq(hn::BitCast(ints, rel_excess), hn::Zero(ints)));
  if constexpr (kCountsOff)
    block.off_by_half = total(off) - block.off_at_zero;  // at zeros every error is beyond half
  else
    block.off_by_half = excess ? count_off(target, golden, i) : 0;
  add_tail(target + i, golden + i, count - i, block);
  // Only a block that may hold a new maximum is worth divisions in double.
  const auto highest = static_cast<double>(hn::GetLane(hn::MaxOfLanes(tag, abs_max)));
  if (highest > maxima.abs * (1 - kBand) || excess)
    raise_exactly(target, golden, i, least_golden, maxima);
  raise_exactly(target + i, golden + i, count - i, least_golden, maxima);
}
template <class T>
HWY_INLINE void add_extremes(const T* target, const T* golden, int64_t count,
                             const PairParts& parts, PairBlock& block, PairMaxima& maxima) {
  // Rounded down, like all that is compared with it: even among subnormals no larger error is
  // missed.
  const double rel_known = std::fmin(maxima.rel * (1 - kBand), 0x1p100);
  if (rel_known > 0.5)
    add_extremes<true>(target, golden, count, rel_known, parts, block, maxima);
  else
    add_extremes<false>(target, golden, count, rel_known, parts, block, maxima);
}

// The counts of small relative errors.
template <class T>
HWY_INLINE void add_shares(const T* target, const T* golden, int64_t count, PairBlock& block) {
  const hn::ScalableTag<T> tag;
  const hn::RebindToSigned<decltype(tag)> ints;
  using V = hn::Vec<decltype(tag)>;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const V limit_1e3 = hn::Set(tag, static_cast<T>(0.001)),
          limit_5e3 = hn::Set(tag, static_cast<T>(0.005));
  const V band = hn::Set(tag, static_cast<T>(0.005 * kBand));
  const V lift = hn::Set(tag, kLift<T>);
  const V zero = hn::Zero(tag), one = hn::Set(tag, T{1});
  V margin = one;  // positive as long as no comparison was close
  auto below_1e3 = hn::Zero(ints), below_5e3 = below_1e3;
  int64_t whole = 0;
  for (; whole + wide <= count; whole += wide) {
    const V t = hn::LoadU(tag, target + whole);
    const V g = hn::LoadU(tag, golden + whole);
    const V error = hn::Mul(hn::Abs(hn::Sub(t, g)), lift);
    const V size = hn::Mul(hn::Abs(g), lift);
    const auto same = hn::Eq(t, g);
    const V over_1e3 = hn::Sub(error, hn::Mul(size, limit_1e3));
    const V over_5e3 = hn::Sub(error, hn::Mul(size, limit_5e3));
    const auto ones = [&](V over) {
      return hn::BitCast(ints, hn::VecFromMask(tag, hn::Or(same, hn::Lt(over, zero))));
    };
    below_1e3 = hn::Sub(below_1e3, ones(over_1e3));
    below_5e3 = hn::Sub(below_5e3, ones(over_5e3));
    const V close = hn::Sub(hn::Min(hn::Abs(over_1e3), hn::Abs(over_5e3)), hn::Mul(size, band));
    margin = hn::Min(margin, hn::IfThenElse(same, one, close));
  }
  if (hn::GetLane(hn::MinOfLanes(tag, margin)) > 0 && !is_huge(block, kHuge<T>)) {
    block.rel_below_1e3 = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(ints, below_1e3)));
    block.rel_below_5e3 = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(ints, below_5e3)));
    count_exactly(target + whole, golden + whole, count - whole, block);
  } else {
    count_exactly(target, golden, count, block);
  }
}

template <class T>
HWY_INLINE PairBlock Block(const T* target, const T* golden, int64_t count, PairParts parts,
                           PairMaxima& maxima) {
  PairBlock block;
  block.count = count;
  if (parts.relative)
    add_sums<true>(target, golden, count, parts, block);
  else
    add_sums<false>(target, golden, count, parts, block);
  if (!block.finite) return block;
  if (parts.products) block.tg = sum_products(target, golden, count);
  add_extremes(target, golden, count, parts, block, maxima);
  if (parts.shares) add_shares(target, golden, count, block);
  if (parts.squares != nullptr && block.dd > 0) add_squares(target, golden, count, parts.squares);
  return block;
}

PairBlock BlockFloat(const float* t, const float* g, int64_t n, PairParts parts, PairMaxima& m) {
  return Block(t, g, n, parts, m);
}
PairBlock BlockDouble(const double* t, const double* g, int64_t n, PairParts parts, PairMaxima& m) {
  return Block(t, g, n, parts, m);
}

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(BlockFloat);
HWY_EXPORT(BlockDouble);
HWY_EXPORT(FindOffFloat);
HWY_EXPORT(FindOffDouble);

template <class T>
int64_t find_off_plainly(const T* target, const T* golden, int64_t count, uint16_t* places) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    if (is_off_by_half(target[i], golden[i])) places[found++] = static_cast<uint16_t>(i);
  return found;
}

// The definition, one pair at a time.
template <class T>
PairBlock reference(const T* target, const T* golden, int64_t count, PairParts parts,
                    PairMaxima& maxima, bool force) {
  LaneSum t_sum, g_sum, tt, gg, tg, dd, abs_sum, rel_sum;
  PairBlock block;
  block.count = count;
  PairMaxima raised = maxima;
  block.t_min = block.t_max = static_cast<double>(target[0]);
  block.g_min = block.g_max = static_cast<double>(golden[0]);
  for (int64_t i = 0; i < count; ++i) {
    const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
    const double d = t - g, error = std::fabs(d), size = std::fabs(g);
    const double ratio = size > parts.least_golden ? error / size : 0;
    t_sum.add(i, t);
    g_sum.add(i, g);
    tt.add(i, t * t);
    gg.add(i, g * g);
    tg.add(i, t * g);
    dd.add(i, d * d);
    abs_sum.add(i, error);
    rel_sum.add(i, ratio);
    raised.abs = std::fmax(raised.abs, error);
    raised.rel = std::fmax(raised.rel, ratio);
    block.t_min = std::fmin(block.t_min, t);
    block.t_max = std::fmax(block.t_max, t);
    block.g_min = std::fmin(block.g_min, g);
    block.g_max = std::fmax(block.g_max, g);
    block.t_zeros += t == 0;
    block.g_zeros += g == 0;
    block.equal += t == g;
    block.off_at_zero += g == 0 && t != 0;
    block.off_by_half += is_off_by_half(target[i], golden[i]);
    block.rel_below_1e3 += error == 0 || error < size * 0.001;
    block.rel_below_5e3 += error == 0 || error < size * 0.005;
  }
  block.t_sum = t_sum.total();
  block.g_sum = g_sum.total();
  block.finite = std::isfinite(block.t_sum) && std::isfinite(block.g_sum);
  if (!block.finite && !force) return block;
  block.tt = tt.total();
  block.gg = gg.total();
  block.tg = parts.products ? tg.total() : 0;
  block.dd = dd.total();
  block.abs_sum = abs_sum.total();
  maxima = raised;
  block.rel_sum = parts.relative ? rel_sum.total() : 0;
  if (!parts.shares) block.rel_below_1e3 = block.rel_below_5e3 = 0;
  if (parts.squares != nullptr)
    for (int64_t i = 0; i < count; ++i) {
      const double d = static_cast<double>(target[i]) - static_cast<double>(golden[i]);
      parts.squares[i] += d * d;
    }
  return block;
}

}  // namespace

PairBlock pair_block(const float* t, const float* g, int64_t n, PairParts parts,
                     PairMaxima& maxima) {
  if (!simd_allowed()) return reference(t, g, n, parts, maxima, false);
  return HWY_DYNAMIC_DISPATCH(BlockFloat)(t, g, n, parts, maxima);
}
PairBlock pair_block(const double* t, const double* g, int64_t n, PairParts parts,
                     PairMaxima& maxima) {
  if (!simd_allowed()) return reference(t, g, n, parts, maxima, false);
  return HWY_DYNAMIC_DISPATCH(BlockDouble)(t, g, n, parts, maxima);
}
int64_t find_off_by_half(const float* t, const float* g, int64_t n, uint16_t* places) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(FindOffFloat)(t, g, n, places)
                        : find_off_plainly(t, g, n, places);
}
int64_t find_off_by_half(const double* t, const double* g, int64_t n, uint16_t* places) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(FindOffDouble)(t, g, n, places)
                        : find_off_plainly(t, g, n, places);
}
PairBlock pair_block_scalar(const float* t, const float* g, int64_t n, PairParts parts,
                            PairMaxima& maxima, bool force) {
  return reference(t, g, n, parts, maxima, force);
}
PairBlock pair_block_scalar(const double* t, const double* g, int64_t n, PairParts parts,
                            PairMaxima& maxima, bool force) {
  return reference(t, g, n, parts, maxima, force);
}

}  // namespace plumb::metrics
#endif
