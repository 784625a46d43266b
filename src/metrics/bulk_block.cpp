// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/simd.h"
#include "metrics/lanes.h"

#ifndef PLUMB_BULK_TERMS  // this file is compiled once for every instruction set
#define PLUMB_BULK_TERMS
namespace plumb::metrics {

constexpr int kBucketShift = 20;  // leaves the exponent and three bits of a float's mantissa
constexpr double kLargestFloat = std::numeric_limits<float>::max();

inline uint32_t bucket_of(double size) {
  const auto narrow = static_cast<float>(std::min(size, kLargestFloat));
  return std::bit_cast<uint32_t>(narrow) >> kBucketShift;
}
// What a pair adds, and where.
struct BulkTerm {
  uint32_t bucket;
  BulkBucket terms;
};
inline BulkTerm bulk_term(double t, double g, const BulkScale& s) {
  if (!both_finite(t, g)) return {kBulkBuckets, {}};
  const double size = std::fabs(g) * s.scale, d = std::fabs(t * s.scale - g * s.scale);
  const double dd = d > std::max(s.relative * size, s.absolute) ? d * d : 0;
  const bool is_off = d > size * 0.5 && d > s.half_absolute && size > 0;
  return {bucket_of(size), {1, size * size, dd, is_off ? 1.0 : 0.0}};
}
inline bool is_exception(float t, float g, const BulkFilter& filter) {
  const float size = std::fabs(g);
  const float close = std::max(size * filter.relative, filter.absolute);
  return size >= filter.from || (std::fabs(t - g) <= close && t != g);
}
inline int64_t keep_exception(float t, float g, const BulkFilter& filter, int64_t found,
                              BulkRoom& room) {
  room.target[found] = t;
  room.golden[found] = g;
  return found + is_exception(t, g, filter);
}
// Which bits of a byte are set, in order; zeros behind them.
using SetBits = std::array<std::array<uint8_t, 8>, 256>;
constexpr SetBits set_bits() {
  SetBits table = {};
  for (size_t bits = 0; bits < table.size(); ++bits)
    for (size_t bit = 0, found = 0; bit < 8; ++bit)
      if ((bits >> bit & 1) != 0) table[bits][found++] = static_cast<uint8_t>(bit);
  return table;
}
inline constexpr SetBits kSetBits = set_bits();
inline bool is_close(double d, double size, const BulkScale& s) {
  return d <= std::max(s.relative * size, s.absolute);
}
inline bool is_not_off(float t, float g, const BulkScale& s) {
  const double d = std::fabs(static_cast<double>(t) - static_cast<double>(g));
  return d <= s.half_absolute && g != 0 && std::fabs(t - g) > std::fabs(g) * 0.5F;
}
inline void add_to_bucket(float t, float g, const BulkScale& s, uint32_t first_bucket,
                          BulkBucket* buckets) {
  const float g_size = std::fabs(g);
  const auto size = static_cast<double>(g_size);
  const double d = std::fabs(static_cast<double>(t) - static_cast<double>(g));
  BulkBucket& bucket = buckets[(std::bit_cast<uint32_t>(g_size) >> kBucketShift) - first_bucket];
  bucket.count += 1;
  bucket.gg += size * size;
  bucket.dd += is_close(d, size, s) ? 0 : d * d;
}
// What is neither large nor close adds nothing.
inline void add_exception(float t, float g, const BulkScale& s, float from, uint32_t first_bucket,
                          BulkBucket* buckets, BulkExceptions& sums) {
  const double size = std::fabs(static_cast<double>(g));
  const double d = std::fabs(static_cast<double>(t) - static_cast<double>(g));
  if (!both_finite(static_cast<double>(t), size)) return;
  const bool close = is_close(d, size, s), is_large = std::fabs(g) >= from;
  sums.ignored += close ? d * d : 0;
  sums.differing += d != 0 && (is_large || close);
  sums.not_off += is_not_off(t, g, s);
  if (is_large) add_to_bucket(t, g, s, first_bucket, buckets);
}
inline void add_bulk_pair(double t, double g, const BulkScale& s, int64_t i, BulkTables& tables) {
  const BulkTerm term = bulk_term(t, g, s);
  BulkBucket& bucket = tables[static_cast<size_t>(i) % kBulkTables][term.bucket];
  bucket.count += term.terms.count;
  bucket.gg += term.terms.gg;
  bucket.dd += term.terms.dd;
  bucket.off += term.terms.off;
}

}  // namespace plumb::metrics
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "metrics/bulk_block.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "metrics/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::metrics::HWY_NAMESPACE {

void Bulk(const double* target, const double* golden, int64_t count, const BulkScale& s,
          BulkTables& tables) {
  const hn::Rebind<float, Doubles> floats;
  const hn::Rebind<uint32_t, Doubles> words;
  const hn::CappedTag<double, 4> bucket_tag;
  constexpr size_t kBucketWidth = hn::MaxLanes(bucket_tag);
  const Vec scale = set(s.scale), relative = set(s.relative), absolute = set(s.absolute);
  alignas(64) uint32_t places[kBulkBlock];
  alignas(64) double terms[4 * kBulkBlock];
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vec t = load(target + i), g = load(golden + i);
    const auto finite = both_are_finite(t, g);
    const Vec size = hn::IfThenElseZero(finite, hn::Mul(hn::Abs(g), scale));
    const Vec d =
        hn::IfThenElseZero(finite, hn::Abs(hn::Sub(hn::Mul(t, scale), hn::Mul(g, scale))));
    const auto narrow = hn::DemoteTo(floats, hn::Min(size, set(kLargestFloat)));
    hn::StoreU(hn::ShiftRight<kBucketShift>(hn::BitCast(words, narrow)), words, places + i);
    const auto counts = hn::Gt(d, hn::Max(hn::Mul(relative, size), absolute));
    const auto beyond_half = hn::And(hn::Gt(d, hn::Mul(size, set(0.5))), hn::Gt(size, set(0)));
    const auto is_off = hn::And(beyond_half, hn::Gt(d, set(s.half_absolute)));
    hn::StoreInterleaved4(set(1), hn::Mul(size, size), hn::IfThenElseZero(counts, hn::Mul(d, d)),
                          hn::IfThenElseZero(is_off, set(1)), Doubles(), terms + 4 * i);
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
  for (; i < count; ++i) add_bulk_pair(target[i], golden[i], s, i, tables);
}

template <class Tag>
HWY_INLINE uint64_t bits_of_lanes(Tag tag, hn::Mask<Tag> mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// visit(lane) for each lane of a mask.
template <class Tag, class Visit>
HWY_INLINE void for_each_lane(Tag tag, hn::Mask<Tag> mask, const Visit& visit) {
  for (uint64_t bits = bits_of_lanes(tag, mask); bits != 0; bits &= bits - 1)
    visit(std::countr_zero(bits));
}

// Stores the lanes of a mask one after the other, and anything behind them. Which lanes they are no
// branch can foresee. hn::Compress would copy its table to the stack, every time, before AVX-512.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
template <class Tag>
HWY_INLINE void store_lanes(Tag tag, hn::Vec<Tag> values, hn::Mask<Tag> mask, uint64_t, float* to) {
  hn::StoreU(hn::Compress(values, mask), tag, to);
}
#else
template <class Tag>
HWY_INLINE void store_lanes(Tag tag, hn::Vec<Tag> values, hn::Mask<Tag>, uint64_t bits, float* to) {
  const hn::Rebind<uint8_t, Tag> bytes;
  const hn::Rebind<uint32_t, Tag> words;
  const auto lanes = hn::PromoteTo(words, hn::LoadU(bytes, kSetBits[bits].data()));
  hn::StoreU(hn::TableLookupLanes(values, hn::IndicesFromVec(tag, lanes)), tag, to);
}
#endif

int64_t Exceptions(const float* target, const float* golden, int64_t count,
                   const BulkFilter& filter, BulkRoom& room) {
  const hn::CappedTag<float, HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3 ? 16 : 8> tag;
  const auto wide = static_cast<int64_t>(hn::Lanes(tag));
  const auto from = hn::Set(tag, filter.from), relative = hn::Set(tag, filter.relative);
  const auto absolute = hn::Set(tag, filter.absolute);
  int64_t found = 0, i = 0;
  for (; i + wide <= count; i += wide) {
    const auto t = hn::LoadU(tag, target + i), g = hn::LoadU(tag, golden + i);
    const auto size = hn::Abs(g), d = hn::Abs(hn::Sub(t, g));
    const auto close = hn::Le(d, hn::Max(hn::Mul(size, relative), absolute));
    const auto mask = hn::Or(hn::Ge(size, from), hn::And(close, hn::Ne(t, g)));
    const uint64_t bits = bits_of_lanes(tag, mask);
    store_lanes(tag, t, mask, bits, room.target + found);
    store_lanes(tag, g, mask, bits, room.golden + found);
    found += std::popcount(bits);
  }
  for (; i < count; ++i) found = keep_exception(target[i], golden[i], filter, found, room);
  return found;
}

// What each sum takes is sorted out by vectors; then it is added in order, one after the other.
void AddExceptions(const float* target, const float* golden, int64_t count, const BulkScale& s,
                   float from, uint32_t first_bucket, BulkBucket* buckets, BulkExceptions& sums) {
  const Doubles tag;
  const Vec relative = set(s.relative), absolute = set(s.absolute);
  const Vec from_size = set(static_cast<double>(from));
  double ignored[kBulkBlock];
  uint16_t large[kBulkBlock];
  for (int64_t first = 0; first < count; first += kBulkBlock) {
    const float *t_block = target + first, *g_block = golden + first;
    const int64_t n = std::min(kBulkBlock, count - first);
    int64_t ignored_count = 0, large_count = 0, i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      const Vec t = load(t_block + i), g = load(g_block + i);
      const Vec size = hn::Abs(g), d = hn::Abs(hn::Sub(t, g));
      const auto finite = both_are_finite(t, g);
      const auto differs = hn::And(finite, hn::Ne(d, set(0)));
      const auto counts = hn::Gt(d, hn::Max(hn::Mul(relative, size), absolute));
      const auto is_ignored = hn::AndNot(counts, differs);
      const auto is_large = hn::And(finite, hn::Ge(size, from_size));
      sums.differing +=
          static_cast<int64_t>(hn::CountTrue(tag, hn::Or(is_ignored, hn::And(is_large, differs))));
      if (!hn::AllFalse(tag, is_ignored))
        for_each_lane(tag, is_ignored, [&](int lane) {
          const double error =
              static_cast<double>(t_block[i + lane]) - static_cast<double>(g_block[i + lane]);
          ignored[ignored_count++] = error * error;
        });
      if (!hn::AllFalse(tag, is_large))
        for_each_lane(tag, is_large,
                      [&](int lane) { large[large_count++] = static_cast<uint16_t>(i + lane); });
      const auto may_not_be_off = hn::And(hn::And(differs, hn::Le(d, set(s.half_absolute))),
                                          hn::Gt(d, hn::Mul(size, set(0.25))));
      if (!hn::AllFalse(tag, may_not_be_off))
        for_each_lane(tag, may_not_be_off, [&](int lane) {
          sums.not_off += is_not_off(t_block[i + lane], g_block[i + lane], s);
        });
    }
    for (int64_t k = 0; k < ignored_count; ++k) sums.ignored += ignored[k];
    for (int64_t k = 0; k < large_count; ++k)
      add_to_bucket(t_block[large[k]], g_block[large[k]], s, first_bucket, buckets);
    for (; i < n; ++i) add_exception(t_block[i], g_block[i], s, from, first_bucket, buckets, sums);
  }
}

}  // namespace plumb::metrics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::metrics {
namespace {

HWY_EXPORT(Bulk);
HWY_EXPORT(Exceptions);
HWY_EXPORT(AddExceptions);

}  // namespace

uint32_t bulk_bucket(double size) { return bucket_of(size); }
float bulk_bucket_begin(uint32_t bucket) { return std::bit_cast<float>(bucket << kBucketShift); }

namespace reference {

void bulk_block(const double* target, const double* golden, int64_t count, const BulkScale& scale,
                BulkTables& tables) {
  for (int64_t i = 0; i < count; ++i) add_bulk_pair(target[i], golden[i], scale, i, tables);
}

int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, BulkRoom& room) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    found = keep_exception(target[i], golden[i], filter, found, room);
  return found;
}

void add_exceptions(const float* target, const float* golden, int64_t count, const BulkScale& s,
                    float from, uint32_t first_bucket, BulkBucket* buckets, BulkExceptions& sums) {
  for (int64_t i = 0; i < count; ++i)
    add_exception(target[i], golden[i], s, from, first_bucket, buckets, sums);
}

}  // namespace reference

void bulk_block(const double* target, const double* golden, int64_t count, const BulkScale& scale,
                BulkTables& tables) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Bulk)(target, golden, count, scale, tables)
                        : reference::bulk_block(target, golden, count, scale, tables);
}
int64_t bulk_exceptions(const float* target, const float* golden, int64_t count,
                        const BulkFilter& filter, BulkRoom& room) {
  return simd_allowed() ? HWY_DYNAMIC_DISPATCH(Exceptions)(target, golden, count, filter, room)
                        : reference::bulk_exceptions(target, golden, count, filter, room);
}
void add_exceptions(const float* target, const float* golden, int64_t count, const BulkScale& s,
                    float from, uint32_t first_bucket, BulkBucket* buckets, BulkExceptions& sums) {
  const auto add = simd_allowed() ? HWY_DYNAMIC_DISPATCH(AddExceptions) : reference::add_exceptions;
  add(target, golden, count, s, from, first_bucket, buckets, sums);
}

}  // namespace plumb::metrics
#endif
