// SPDX-License-Identifier: Apache-2.0
#include "metrics/detail_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "base/simd.h"
#include "metrics/lanes.h"

#ifndef PLUMB_DETAIL_TERMS  // this file is compiled once for every instruction set
#define PLUMB_DETAIL_TERMS
namespace plumb::metrics {

constexpr double kLargestFinite = std::numeric_limits<double>::max();
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

constexpr int kBucketShift = 20;  // leaves the exponent and three bits of a float's mantissa
constexpr double kLargestFloat = std::numeric_limits<float>::max();

// The terms of one pair: what the vectors compute, operation by operation.
inline bool both_finite(double t, double g) {
  return std::fabs(t) <= kLargestFinite && std::fabs(g) <= kLargestFinite;
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
inline uint32_t bucket_of(double size) {
  const auto narrow = static_cast<float>(std::min(size, kLargestFloat));
  return std::bit_cast<uint32_t>(narrow) >> kBucketShift;
}
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
// What a pair adds, and where.
struct BulkTerm {
  uint32_t bucket;
  BulkBucket terms;
  bool off;
};
inline BulkTerm bulk_term(double t, double g, const BulkScale& s) {
  if (!both_finite(t, g)) return {kBulkBuckets, {}, false};
  const double size = std::fabs(g) * s.scale, d = std::fabs(t * s.scale - g * s.scale);
  const double dd = d > std::max(s.relative * size, s.absolute) ? d * d : 0;
  return {
      bucket_of(size), {1, size * size, dd, 0}, d > size * 0.5 && d > s.half_absolute && size > 0};
}
inline bool is_exception(float t, float g, const BulkFilter& filter) {
  const float size = std::fabs(g);
  const float close = std::max(size * filter.relative, filter.absolute);
  return size >= filter.from || (std::fabs(t - g) <= close && t != g);
}
inline int64_t add_bulk_pair(double t, double g, const BulkScale& s, int64_t i,
                             BulkTables& tables) {
  const BulkTerm term = bulk_term(t, g, s);
  BulkBucket& bucket = tables[static_cast<size_t>(i) % kBulkTables][term.bucket];
  bucket.count += term.terms.count;
  bucket.gg += term.terms.gg;
  bucket.dd += term.terms.dd;
  return term.off;
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

using Mask = hn::Mask<Doubles>;
using Bits = hn::RebindToUnsigned<Doubles>;

HWY_INLINE Vec set(double value) { return hn::Set(Doubles(), value); }

HWY_INLINE Mask both_are_finite(Vec t, Vec g) {
  return hn::And(hn::Le(hn::Abs(t), set(kLargestFinite)), hn::Le(hn::Abs(g), set(kLargestFinite)));
}

HWY_INLINE Vec shares(Vec value, Vec scale, Vec min, Vec factor) {
  return hn::Max(hn::Mul(hn::Sub(hn::Mul(value, scale), min), factor), set(kSmallestShare));
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

KlBlock Kl(const double* target, const double* golden, int64_t count, double scale,
           const ShareMap& t_map, const ShareMap& g_map) {
  const Vec factor = set(scale);
  const Vec t_min = set(t_map.min), t_factor = set(t_map.factor);
  const Vec g_min = set(g_map.min), g_factor = set(g_map.factor);
  Sum t_sum, g_sum, log_sum;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth), g = load(golden + i + v * kWidth);
      const auto finite = both_are_finite(t, g);
      // What is not finite takes the share 1, whose logarithm does no harm.
      const Vec p = hn::IfThenElse(finite, shares(t, factor, t_min, t_factor), set(1));
      const Vec q = hn::IfThenElse(finite, shares(g, factor, g_min, g_factor), set(1));
      t_sum.add(v, hn::IfThenElseZero(finite, p));
      g_sum.add(v, hn::IfThenElseZero(finite, q));
      log_sum.add(v, hn::Mul(p, log_ratios(p, q)));
    }
  }
  const double *t = target + whole, *g = golden + whole;
  const int64_t tail = count - whole;
  const auto if_finite = [&](int64_t i, auto&& term) {
    return both_finite(t[i], g[i]) ? term(share(t[i], scale, t_map), share(g[i], scale, g_map)) : 0;
  };
  KlBlock block;
  block.t_sum =
      t_sum.fold(tail, [&](int64_t i) { return if_finite(i, [](double p, double) { return p; }); });
  block.g_sum =
      g_sum.fold(tail, [&](int64_t i) { return if_finite(i, [](double, double q) { return q; }); });
  block.log_sum = log_sum.fold(tail, [&](int64_t i) { return if_finite(i, kl_term); });
  return block;
}

KlBlock KlFloat(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
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

int64_t Bulk(const double* target, const double* golden, int64_t count, const BulkScale& s,
             BulkTables& tables) {
  const hn::Rebind<float, Doubles> floats;
  const hn::Rebind<uint32_t, Doubles> words;
  const hn::CappedTag<double, 4> bucket_tag;
  constexpr size_t kBucketWidth = hn::MaxLanes(bucket_tag);
  const Vec scale = set(s.scale), relative = set(s.relative), absolute = set(s.absolute);
  alignas(64) uint32_t places[kDetailBlock];
  alignas(64) double terms[4 * kDetailBlock];
  int64_t off = 0, i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec t = load(target + i), g = load(golden + i);
    const auto finite = both_are_finite(t, g);
    const Vec size = hn::IfThenElseZero(finite, hn::Mul(hn::Abs(g), scale));
    const Vec d =
        hn::IfThenElseZero(finite, hn::Abs(hn::Sub(hn::Mul(t, scale), hn::Mul(g, scale))));
    const auto narrow = hn::DemoteTo(floats, hn::Min(size, set(kLargestFloat)));
    hn::StoreU(hn::ShiftRight<kBucketShift>(hn::BitCast(words, narrow)), words, places + i);
    const auto counts = hn::Gt(d, hn::Max(hn::Mul(relative, size), absolute));
    hn::StoreInterleaved4(set(1), hn::Mul(size, size), hn::IfThenElseZero(counts, hn::Mul(d, d)),
                          set(0), Doubles(), terms + 4 * i);
    const auto beyond_half = hn::And(hn::Gt(d, hn::Mul(size, set(0.5))), hn::Gt(size, set(0)));
    off += static_cast<int64_t>(
        hn::CountTrue(Doubles(), hn::And(beyond_half, hn::Gt(d, set(s.half_absolute)))));
    if (!hn::AllTrue(Doubles(), finite))
      for (int64_t j = i; j < i + kWidth; ++j)
        if (!both_finite(target[j], golden[j])) places[j] = kBulkBuckets;
  }
  for (int64_t j = 0; j < i; ++j) {
    double* bucket = &tables[static_cast<size_t>(j) % kBulkTables][places[j]].count;
    for (size_t lane = 0; lane < 4; lane += kBucketWidth)
      hn::Store(hn::Add(hn::Load(bucket_tag, bucket + lane),
                        hn::Load(bucket_tag, terms + 4 * static_cast<size_t>(j) + lane)),
                bucket_tag, bucket + lane);
  }
  for (; i < count; ++i) off += add_bulk_pair(target[i], golden[i], s, i, tables);
  return off;
}

// Most groups hold none.
int64_t Exceptions(const float* target, const float* golden, int64_t count,
                   const BulkFilter& filter, uint16_t* places) {
  const hn::ScalableTag<float> tag;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const auto from = hn::Set(tag, filter.from), relative = hn::Set(tag, filter.relative);
  const auto absolute = hn::Set(tag, filter.absolute);
  int64_t found = 0, i = 0;
  for (; i + wide <= count; i += wide) {
    const auto t = hn::LoadU(tag, target + i), g = hn::LoadU(tag, golden + i);
    const auto size = hn::Abs(g), d = hn::Abs(hn::Sub(t, g));
    const auto close = hn::Le(d, hn::Max(hn::Mul(size, relative), absolute));
    const auto mask = hn::Or(hn::Ge(size, from), hn::And(close, hn::Ne(t, g)));
    if (hn::AllFalse(tag, mask)) continue;
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(tag, mask, bytes);
    for (uint64_t bits = load_le<uint64_t>(bytes); bits != 0; bits &= bits - 1)
      places[found++] = static_cast<uint16_t>(i + std::countr_zero(bits));
  }
  for (; i < count; ++i)
    if (is_exception(target[i], golden[i], filter)) places[found++] = static_cast<uint16_t>(i);
  return found;
}

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
    const auto minus_ones = [&](Mask mask)
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

double Transport(const double* target, const double* golden, int64_t count, const StepMap& map,
                 int64_t* surplus) {
  const Doubles doubles;
  const Vec scale = set(map.scale), min = set(map.min), factor = set(map.steps);
  const auto steps = [&](Vec values)
                         HWY_ATTR { return hn::Mul(hn::Sub(hn::Mul(values, scale), min), factor); };
  Sum beyond;
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t v = 0; v < kVectors; ++v) {
      const Vec t = load(target + i + v * kWidth), g = load(golden + i + v * kWidth);
      const auto finite = both_are_finite(t, g);
      const Vec at = steps(t), within = hn::Min(hn::Max(at, set(0)), set(map.last));
      beyond.add(v, hn::IfThenElseZero(finite, hn::Abs(hn::Sub(at, within))));
      const Vec to = hn::Trunc(hn::Add(within, set(0.5)));
      const Vec from = hn::Trunc(hn::Add(steps(g), set(0.5)));
      const auto moves = hn::And(finite, hn::Ne(to, from));
      if (hn::AllFalse(doubles, moves)) continue;
      HWY_ALIGN double tos[kLanes], froms[kLanes];
      uint8_t bytes[8] = {};
      hn::Store(to, doubles, tos);
      hn::Store(from, doubles, froms);
      hn::StoreMaskBits(doubles, moves, bytes);
      for (uint32_t bits = bytes[0]; bits != 0; bits &= bits - 1) {
        const auto lane = static_cast<size_t>(std::countr_zero(bits));
        ++surplus[static_cast<size_t>(tos[lane])];
        --surplus[static_cast<size_t>(froms[lane])];
      }
    }
  }
  return beyond.fold(count - whole, [&](int64_t i) {
    return transport_pair(target[whole + i], golden[whole + i], map, surplus);
  });
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

HWY_EXPORT(Kl);
HWY_EXPORT(KlFloat);
HWY_EXPORT(Bulk);
HWY_EXPORT(Exceptions);
HWY_EXPORT(Centred);
HWY_EXPORT(FloatSteps);
HWY_EXPORT(FloatStepsOfFloats);
HWY_EXPORT(Transport);
HWY_EXPORT(AtLimit);

}  // namespace

double log_ratio(double p, double q) { return ratio_logarithm(p, q); }
uint32_t bulk_bucket(double size) { return bucket_of(size); }
float bulk_bucket_begin(uint32_t bucket) { return std::bit_cast<float>(bucket << kBucketShift); }

void add_exceptions(const float* target, const float* golden, std::span<const uint16_t> places,
                    const BulkScale& s, float from, uint32_t first_bucket, BulkBucket* buckets,
                    BulkExceptions& sums) {
  for (const uint16_t place : places) {
    const float t = target[place], g = golden[place], g_size = std::fabs(g);
    const auto size = static_cast<double>(g_size);
    const double d = std::fabs(static_cast<double>(t) - static_cast<double>(g));
    if (!both_finite(static_cast<double>(t), size)) continue;
    const double dd = d * d;
    const bool counts = d > std::max(s.relative * size, s.absolute), is_large = g_size >= from;
    sums.ignored += counts ? 0 : dd;
    sums.differing += d != 0 && (is_large || !counts);
    sums.not_off += d <= s.half_absolute && g != 0 && std::fabs(t - g) > g_size * 0.5F;
    if (!is_large) continue;
    BulkBucket& bucket = buckets[(std::bit_cast<uint32_t>(g_size) >> kBucketShift) - first_bucket];
    bucket.count += 1;
    bucket.gg += size * size;
    bucket.dd += counts ? dd : 0;
  }
}

namespace reference {

KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  LaneSum t_sum, g_sum, log_sum;
  for (int64_t i = 0; i < count; ++i) {
    if (!both_finite(target[i], golden[i])) continue;
    const double p = share(target[i], scale, t_map), q = share(golden[i], scale, g_map);
    t_sum.add(i, p);
    g_sum.add(i, q);
    log_sum.add(i, kl_term(p, q));
  }
  return {t_sum.total(), g_sum.total(), log_sum.total()};
}

KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map) {
  KlLanes lanes;
  for (int64_t i = 0; i < count; i += kFloatLanes)
    lanes.add(target + i, golden + i, std::min(kFloatLanes, count - i), t_map, g_map);
  return lanes.total();
}

int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables) {
  int64_t off = 0;
  for (int64_t i = 0; i < count; ++i) off += add_bulk_pair(target[i], golden[i], scale, i, tables);
  return off;
}

int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, uint16_t* places) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    if (is_exception(target[i], golden[i], filter)) places[found++] = static_cast<uint16_t>(i);
  return found;
}

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

double transport_block(const double* target, const double* golden, int64_t count,
                       const StepMap& map, int64_t* surplus) {
  LaneSum beyond;
  for (int64_t i = 0; i < count; ++i)
    beyond.add(i, transport_pair(target[i], golden[i], map, surplus));
  return beyond.total();
}

int64_t at_limit_block(const double* values, int64_t count, double low, double high) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += at_limit(values[i], low, high);
  return found;
}

}  // namespace reference

KlBlock kl_block(const double* target, const double* golden, int64_t count, double scale,
                 const ShareMap& t_map, const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Kl)(target, golden, count, scale, t_map, g_map)
                        : reference::kl_block(target, golden, count, scale, t_map, g_map);
}
KlBlock kl_block(const float* target, const float* golden, int64_t count, const ShareMap& t_map,
                 const ShareMap& g_map) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(KlFloat)(target, golden, count, t_map, g_map)
                        : reference::kl_block(target, golden, count, t_map, g_map);
}
int64_t bulk_block(const double* target, const double* golden, int64_t count,
                   const BulkScale& scale, BulkTables& tables) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Bulk)(target, golden, count, scale, tables)
                        : reference::bulk_block(target, golden, count, scale, tables);
}
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, uint16_t* places) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Exceptions)(target, golden, count, filter, places)
                        : reference::bulk_exceptions(target, golden, count, filter, places);
}
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
int64_t at_limit_block(const double* values, int64_t count, double low, double high) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(AtLimit)(values, count, low, high)
                        : reference::at_limit_block(values, count, low, high);
}

}  // namespace plumb::metrics
#endif
