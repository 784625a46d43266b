// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/simd.h"
#include "metrics/lanes.h"

#ifndef PLUMB_KL_TERMS  // this file is compiled once for every instruction set
#define PLUMB_KL_TERMS
namespace plumb::metrics {

constexpr double kSmallestShare = std::numeric_limits<float>::epsilon();

constexpr uint64_t kMantissa = 0x000FFFFFFFFFFFFF;
constexpr uint64_t kOne = 0x3FF0000000000000;
constexpr double kSquareRoot2 = 0x1.6a09e667f3bcdp+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// An integer added to its bits is added to the number; so a small integer becomes a double.
constexpr double kIntegers = 0x1.8p52;
// ln(p / q) = 2 artanh((p - q) / (p + q)) = 2 (s + s^3 / 3 + s^5 / 5 + ...). With p and q within a
// factor of the square root of 2, terms beyond s^21 are below the last digit. Summed by halves:
// one multiplication need not wait for the last.
inline double artanh_series(double z) {
  const auto pair = [z](int n) { return 1.0 / n + 1.0 / (n + 2) * z; };
  const double z2 = z * z, z4 = z2 * z2;
  const double low = pair(3) + pair(7) * z2, high = pair(11) + pair(15) * z2;
  return (low + high * z4) + pair(19) * (z4 * z4);
}

inline double share(double value, double scale, const ShareMap& map) {
  return std::max((value * scale - map.min) * map.factor, kSmallestShare);
}
inline double ratio_logarithm(double p, double q) {
  const auto p_bits = std::bit_cast<uint64_t>(p), q_bits = std::bit_cast<uint64_t>(q);
  double power =
      std::bit_cast<double>(std::bit_cast<uint64_t>(kIntegers) + (p_bits >> 52) - (q_bits >> 52)) -
      kIntegers;
  double a = std::bit_cast<double>((p_bits & kMantissa) | kOne);
  const double b = std::bit_cast<double>((q_bits & kMantissa) | kOne);
  const bool high = a > b * kSquareRoot2, low = b > a * kSquareRoot2;
  power = power + (high ? 1.0 : 0.0) - (low ? 1.0 : 0.0);
  a = a * (high ? 0.5 : low ? 2.0 : 1.0);
  const double s = (a - b) / (a + b), z = s * s;
  const double half = s + s * (z * artanh_series(z));
  return power * kLn2 + (half + half);
}
inline double kl_term(double p, double q) { return p * ratio_logarithm(p, q); }

// With s = (p - q) / (p + q), p ln(p / q) is (p - q) + (p - q) s (1 + s/3 + s^2/3 + s^3/5 + s^4/5 +
// ...). The first term adds up to the difference of the sums. What is beyond it is small where p
// and q are alike, so that few digits of it will do.
constexpr int64_t kFloatLanes = 16;  // ... of sums, and pairs that are looked at together
constexpr float kAlike = 0x1p-3F;    // largest |s| for the series
constexpr float kFloatShare = std::numeric_limits<float>::epsilon();
inline float float_share(float value, float min, float factor) {
  return std::max((value - min) * factor, kFloatShare);
}
inline float excess_series(float s) {
  const float z = s * s;
  const float low = 1.0F + s * (1.0F / 3), middle = (1.0F / 3) + s * (1.0F / 5);
  const float high = (1.0F / 5) + s * (1.0F / 7);
  return low + z * (middle + z * high);
}
inline double excess_term(double p, double q) { return kl_term(p, q) - (p - q); }
// Sixteen lanes of floats and eight of doubles, as the vectors have them.
struct KlLanes {
  float t_sum[kFloatLanes] = {}, difference[kFloatLanes] = {}, excess[kFloatLanes] = {};
  double exact_excess[kLanes] = {};

  // Up to kFloatLanes pairs.
  void add(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
           const ShareMap& g_map) {
    float p[kFloatLanes], q[kFloatLanes], e[kFloatLanes];
    float most = 0;
    for (int64_t i = 0; i < count; ++i) {
      p[i] =
          float_share(target[i], static_cast<float>(t_map.min), static_cast<float>(t_map.factor));
      q[i] =
          float_share(golden[i], static_cast<float>(g_map.min), static_cast<float>(g_map.factor));
      const float d = p[i] - q[i], s = d / (p[i] + q[i]);
      e[i] = d * s * excess_series(s);
      most = std::max(most, std::fabs(s));
      t_sum[i] += p[i];
      difference[i] += d;
    }
    for (int64_t i = 0; i < count; ++i) {
      if (most <= kAlike)
        excess[i] += e[i];
      else
        exact_excess[i % kLanes] +=
            excess_term(static_cast<double>(p[i]), static_cast<double>(q[i]));
    }
  }
  KlBlock total() {
    const auto fold = [](const float* lanes) {
      double wide[kLanes];
      for (int64_t i = 0; i < kLanes; ++i)
        wide[i] = static_cast<double>(lanes[i]) + static_cast<double>(lanes[i + kLanes]);
      return fold_lanes(wide);
    };
    static_assert(kFloatLanes == 2 * kLanes);
    const double t = fold(t_sum), d = fold(difference);
    return {t, t - d, d + (fold(excess) + fold_lanes(exact_excess))};
  }
};

}  // namespace plumb::metrics
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/kl_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "metrics/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {

using Bits = hn::RebindToUnsigned<Doubles>;

HWY_INLINE Vec shares(Vec scaled, Vec min, Vec factor) {
  return hn::Max(hn::Mul(hn::Sub(scaled, min), factor), set(kSmallestShare));
}

HWY_INLINE Vec log_ratios(Vec p, Vec q) {
  const Doubles doubles;
  const Bits bits;
  const auto p_bits = hn::BitCast(bits, p), q_bits = hn::BitCast(bits, q);
  const auto mantissa = hn::Set(bits, kMantissa), one = hn::Set(bits, kOne);
  const auto exponents =
      hn::Sub(hn::Add(hn::BitCast(bits, set(kIntegers)), hn::ShiftRight<52>(p_bits)),
              hn::ShiftRight<52>(q_bits));
  Vec power = hn::Sub(hn::BitCast(doubles, exponents), set(kIntegers));
  Vec a = hn::BitCast(doubles, hn::Or(hn::And(p_bits, mantissa), one));
  const Vec b = hn::BitCast(doubles, hn::Or(hn::And(q_bits, mantissa), one));
  const auto high = hn::Gt(a, hn::Mul(b, set(kSquareRoot2)));
  const auto low = hn::Gt(b, hn::Mul(a, set(kSquareRoot2)));
  power =
      hn::Sub(hn::Add(power, hn::IfThenElseZero(high, set(1))), hn::IfThenElseZero(low, set(1)));
  a = hn::Mul(a, hn::IfThenElse(high, set(0.5), hn::IfThenElse(low, set(2), set(1))));
  const Vec s = hn::Div(hn::Sub(a, b), hn::Add(a, b)), z = hn::Mul(s, s);
  const auto pair = [&](int n)
                        HWY_ATTR { return hn::Add(set(1.0 / n), hn::Mul(set(1.0 / (n + 2)), z)); };
  const Vec z2 = hn::Mul(z, z), z4 = hn::Mul(z2, z2);
  const Vec low_terms = hn::Add(pair(3), hn::Mul(pair(7), z2));
  const Vec high_terms = hn::Add(pair(11), hn::Mul(pair(15), z2));
  const Vec series =
      hn::Add(hn::Add(low_terms, hn::Mul(high_terms, z4)), hn::Mul(pair(19), hn::Mul(z4, z4)));
  const Vec half = hn::Add(s, hn::Mul(s, hn::Mul(z, series)));
  return hn::Add(hn::Mul(power, set(kLn2)), hn::Add(half, half));
}

// ln(p / q) where p and q are so close that half of the terms of the series are below the last
// digit of the others: the same number. s is (p - q) / (p + q), z its square.
constexpr double kClose = 0x1p-14;
HWY_INLINE Vec log_ratios_of_close(Vec s, Vec z) {
  const auto pair = [&](int n)
                        HWY_ATTR { return hn::Add(set(1.0 / n), hn::Mul(set(1.0 / (n + 2)), z)); };
  const Vec series = hn::Add(pair(3), hn::Mul(pair(7), hn::Mul(z, z)));
  const Vec half = hn::Add(s, hn::Mul(s, hn::Mul(z, series)));
  return hn::Add(half, half);
}

// `kPlain`: all values are finite, and the scale is 1.
template <bool kPlain, class T>
HWY_INLINE KlBlock KlOf(const T* target, const T* golden, int64_t count, double scale,
                        const ShareMap& t_map, const ShareMap& g_map) {
  const Vec factor = set(scale);
  const Vec t_min = set(t_map.min), t_factor = set(t_map.factor);
  const Vec g_min = set(g_map.min), g_factor = set(g_map.factor);
  const auto scaled = [&](Vec value) HWY_ATTR {
    if constexpr (kPlain) {
      return value;
    } else {
      return hn::Mul(value, factor);
    }
  };
  Sum t_sum, g_sum, log_sum;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth), g = load(golden + i + v * kWidth);
      Vec p = shares(scaled(t), t_min, t_factor), q = shares(scaled(g), g_min, g_factor);
      if constexpr (kPlain) {
        t_sum.add(v, p);
        g_sum.add(v, q);
      } else {
        // What is not finite takes the share 1, whose logarithm does no harm.
        const auto finite = both_are_finite(t, g);
        p = hn::IfThenElse(finite, p, set(1));
        q = hn::IfThenElse(finite, q, set(1));
        t_sum.add(v, hn::IfThenElseZero(finite, p));
        g_sum.add(v, hn::IfThenElseZero(finite, q));
      }
      const Vec s = hn::Div(hn::Sub(p, q), hn::Add(p, q)), z = hn::Mul(s, s);
      const bool are_close = hn::AllTrue(Doubles(), hn::Lt(z, set(kClose)));
      log_sum.add(v, hn::Mul(p, are_close ? log_ratios_of_close(s, z) : log_ratios(p, q)));
    }
  }
  const auto t_at = [&](int64_t i) { return static_cast<double>(target[whole + i]); };
  const auto g_at = [&](int64_t i) { return static_cast<double>(golden[whole + i]); };
  const int64_t tail = count - whole;
  const auto if_finite = [&](int64_t i, auto&& term) {
    return both_finite(t_at(i), g_at(i))
               ? term(share(t_at(i), scale, t_map), share(g_at(i), scale, g_map))
               : 0;
  };
  KlBlock block;
  block.t_sum =
      t_sum.fold(tail, [&](int64_t i) { return if_finite(i, [](double p, double) { return p; }); });
  block.g_sum =
      g_sum.fold(tail, [&](int64_t i) { return if_finite(i, [](double, double q) { return q; }); });
  block.log_sum = log_sum.fold(tail, [&](int64_t i) { return if_finite(i, kl_term); });
  return block;
}
KlBlock Kl(const double* target, const double* golden, int64_t count, double scale,
           const ShareMap& t_map, const ShareMap& g_map) {
  return KlOf<false>(target, golden, count, scale, t_map, g_map);
}
KlBlock KlFloat(const float* target, const float* golden, int64_t count, double scale,
                const ShareMap& t_map, const ShareMap& g_map) {
  return KlOf<false>(target, golden, count, scale, t_map, g_map);
}
KlBlock KlPlain(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                const ShareMap& g_map) {
  return KlOf<true>(target, golden, count, 1, t_map, g_map);
}

KlBlock RoughKl(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                const ShareMap& g_map) {
  const hn::CappedTag<float, kFloatLanes> floats;
  using V = hn::Vec<decltype(floats)>;
  constexpr auto kFloatWidth = static_cast<int64_t>(hn::MaxLanes(decltype(floats)()));
  constexpr int64_t kFloatVectors = kFloatLanes / kFloatWidth;
  const auto of = [&](float value) HWY_ATTR { return hn::Set(floats, value); };
  const V t_min = of(static_cast<float>(t_map.min)),
          t_factor = of(static_cast<float>(t_map.factor));
  const V g_min = of(static_cast<float>(g_map.min)),
          g_factor = of(static_cast<float>(g_map.factor));
  V t_sum[kFloatVectors], difference[kFloatVectors], excess[kFloatVectors], terms[kFloatVectors];
  for (int64_t v = 0; v < kFloatVectors; ++v)
    t_sum[v] = difference[v] = excess[v] = hn::Zero(floats);
  Sum exact;
  const int64_t whole = count / kFloatLanes * kFloatLanes;
  for (int64_t i = 0; i < whole; i += kFloatLanes) {
    V most = hn::Zero(floats);
    for (int64_t v = 0; v < kFloatVectors; ++v) {
      const V t = hn::LoadU(floats, target + i + v * kFloatWidth);
      const V g = hn::LoadU(floats, golden + i + v * kFloatWidth);
      const V p = hn::Max(hn::Mul(hn::Sub(t, t_min), t_factor), of(kFloatShare));
      const V q = hn::Max(hn::Mul(hn::Sub(g, g_min), g_factor), of(kFloatShare));
      const V d = hn::Sub(p, q), s = hn::Div(d, hn::Add(p, q)), z = hn::Mul(s, s);
      const V low = hn::Add(of(1.0F), hn::Mul(s, of(1.0F / 3)));
      const V middle = hn::Add(of(1.0F / 3), hn::Mul(s, of(1.0F / 5)));
      const V high = hn::Add(of(1.0F / 5), hn::Mul(s, of(1.0F / 7)));
      const V series = hn::Add(low, hn::Mul(z, hn::Add(middle, hn::Mul(z, high))));
      terms[v] = hn::Mul(hn::Mul(d, s), series);
      most = hn::Max(most, hn::Abs(s));
      t_sum[v] = hn::Add(t_sum[v], p);
      difference[v] = hn::Add(difference[v], d);
    }
    if (hn::AllTrue(floats, hn::Le(most, of(kAlike)))) {
      for (int64_t v = 0; v < kFloatVectors; ++v) excess[v] = hn::Add(excess[v], terms[v]);
      continue;
    }
    HWY_ALIGN float p[kFloatLanes], q[kFloatLanes];
    for (int64_t v = 0; v < kFloatVectors; ++v) {
      const V t = hn::LoadU(floats, target + i + v * kFloatWidth);
      const V g = hn::LoadU(floats, golden + i + v * kFloatWidth);
      hn::Store(hn::Max(hn::Mul(hn::Sub(t, t_min), t_factor), of(kFloatShare)), floats,
                p + v * kFloatWidth);
      hn::Store(hn::Max(hn::Mul(hn::Sub(g, g_min), g_factor), of(kFloatShare)), floats,
                q + v * kFloatWidth);
    }
    for (int64_t at = 0; at < kFloatLanes; at += kLanes)
      for (int64_t v = 0; v < kVectors; ++v) {
        const Vec wide_p = load(p + at + v * kWidth), wide_q = load(q + at + v * kWidth);
        exact.add(v, hn::Sub(hn::Mul(wide_p, log_ratios(wide_p, wide_q)), hn::Sub(wide_p, wide_q)));
      }
  }
  KlLanes lanes;
  for (int64_t v = 0; v < kFloatVectors; ++v) {
    hn::StoreU(t_sum[v], floats, lanes.t_sum + v * kFloatWidth);
    hn::StoreU(difference[v], floats, lanes.difference + v * kFloatWidth);
    hn::StoreU(excess[v], floats, lanes.excess + v * kFloatWidth);
  }
  for (int64_t v = 0; v < kVectors; ++v)
    hn::StoreU(exact.vectors[v], Doubles(), lanes.exact_excess + v * kWidth);
  lanes.add(target + whole, golden + whole, count - whole, t_map, g_map);
  return lanes.total();
}

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(Kl);
HWY_EXPORT(KlFloat);
HWY_EXPORT(KlPlain);
HWY_EXPORT(RoughKl);

template <class T>
KlBlock kl_of(const T* target, const T* golden, int64_t count, double scale, const ShareMap& t_map,
              const ShareMap& g_map) {
  LaneSum t_sum, g_sum, log_sum;
  for (int64_t i = 0; i < count; ++i) {
    const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
    if (!both_finite(t, g)) continue;
    const double p = share(t, scale, t_map), q = share(g, scale, g_map);
    t_sum.add(i, p);
    g_sum.add(i, q);
    log_sum.add(i, kl_term(p, q));
  }
  return {t_sum.total(), g_sum.total(), log_sum.total()};
}

}  // namespace

double log_ratio(double p, double q) { return ratio_logarithm(p, q); }

namespace reference {

KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  return kl_of(target, golden, count, scale, t_map, g_map);
}
KlBlock kl_block(const float* target, const float* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  return kl_of(target, golden, count, scale, t_map, g_map);
}
KlBlock rough_kl_block(const float* target, const float* golden, int64_t count,
                       const ShareMap& t_map, const ShareMap& g_map) {
  KlLanes lanes;
  for (int64_t i = 0; i < count; i += kFloatLanes)
    lanes.add(target + i, golden + i, std::min(kFloatLanes, count - i), t_map, g_map);
  return lanes.total();
}

}  // namespace reference

KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Kl)(target, golden, count, scale, t_map, g_map)
                        : reference::kl_block(target, golden, count, scale, t_map, g_map);
}
KlBlock kl_block(const float* target, const float* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(KlFloat)(target, golden, count, scale, t_map, g_map)
                        : reference::kl_block(target, golden, count, scale, t_map, g_map);
}
KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(KlPlain)(target, golden, count, t_map, g_map)
                        : reference::kl_block(target, golden, count, 1, t_map, g_map);
}
KlBlock rough_kl_block(const float* target, const float* golden, int64_t count,
                       const ShareMap& t_map, const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(RoughKl)(target, golden, count, t_map, g_map)
                        : reference::rough_kl_block(target, golden, count, t_map, g_map);
}

}  // namespace plumb::metrics
#endif
