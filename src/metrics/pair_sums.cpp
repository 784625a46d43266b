// SPDX-License-Identifier: Apache-2.0
#include "metrics/pair_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "metrics/bulk_candidates.h"
#include "metrics/decoded_pairs.h"
#include "metrics/pair_block.h"
#include "metrics/slice_sums.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::metrics {
namespace {

struct Fast {
  template <class T>
  static PairBlock block(const T* t, const T* g, int64_t n, PairParts parts, PairMaxima& maxima) {
    return pair_block(t, g, n, parts, maxima);
  }
};
struct Reference {
  template <class T>
  static PairBlock block(const T* t, const T* g, int64_t n, PairParts parts, PairMaxima& maxima) {
    return pair_block_scalar(t, g, n, parts, maxima);
  }
};

// Room for a block of each side, decoded or cleared of what is not finite.
template <class T>
struct Room {
  alignas(64) T target[kPairBlock];
  alignas(64) T golden[kPairBlock];
};

constexpr double kPlainly = 0.01;  // of golden's squares

template <class T>
class Adder {
 public:
  using Kernel = PairBlock (*)(const T*, const T*, int64_t, PairParts, PairMaxima&);
  // Elements of the piece are `values` numbers each.
  Adder(Kernel kernel, const PairPass& pass, int64_t values, SliceSums* slices, int64_t position,
        BulkCandidates* candidates, PairSums& sums)
      : kernel_(kernel),
        parts_{pass.relative, pass.products, pass.shares, pass.least_golden},
        exponent_(pass.exponent),
        values_(values),
        slices_(slices),
        position_(position * values),
        candidates_(candidates),
        sums_(sums) {}
  ~Adder() {
    sums_.abs_max = std::max(sums_.abs_max, maxima_.abs);
    sums_.rel_max = std::max(sums_.rel_max, maxima_.rel);
  }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;

  // `first` is the position of the block in the piece.
  void add(int64_t first, const T* target, const T* golden, int64_t count, Ahead t_ahead,
           Ahead g_ahead) {
    parts_.t_ahead = t_ahead;
    parts_.g_ahead = g_ahead;
    const int64_t position = position_ + first;
    double* squares = slices_ != nullptr ? slices_->places(position) : nullptr;
    parts_.squares = exponent_ == 0 ? squares : nullptr;
    PairBlock block = kernel_(target, golden, count, parts_, maxima_);
    parts_.squares = nullptr;
    if (!block.finite || exponent_ != 0) block = odd_block(target, golden, count, squares);
    add_block(block);
    if (slices_ != nullptr) {
      slices_->add_run(position, count, block.dd, block.gg);
      if (block.off_by_half > 0 && exponent_ == 0 && wants_off()) add_off(target, golden, count);
    }
    if (parts_.shares && !sums_.first_beyond && may_be_beyond())
      find_beyond(first, target, golden, count);
    if constexpr (sizeof(T) == 4)
      if (candidates_ != nullptr) candidates_->add(target, golden, count);
  }

  // Where much is wrong, or the whole differs plainly, no band need be found.
  bool wants_off() const {
    return 5 * sums_.off_by_half <= sums_.finite && sums_.dd <= kPlainly * sums_.gg;
  }
  void add_off(const T* target, const T* golden, int64_t count) {
    uint16_t places[kPairBlock + 1];
    const int64_t found = find_off_by_half(target, golden, count, places);
    for (int64_t i = 0; i < found; ++i) {
      const auto t = static_cast<double>(target[places[i]]);
      const auto g = static_cast<double>(golden[places[i]]);
      if (std::isfinite(t) && std::isfinite(g)) slices_->add_off(std::fabs(g), t - g);
    }
  }

  // How many of `most` pairs from `first` on are a block.
  int64_t block_at(int64_t first, int64_t most) const {
    const int64_t n = std::min(kPairBlock, most);
    return slices_ == nullptr ? n : slices_->block_at(position_ + first, n);
  }

 private:
  // True from the block on that holds the first element beyond; that of a complex number need not
  // be where one of its parts is.
  bool may_be_beyond() const {
    return maxima_.rel >= PairSums::kBeyond || sums_.off_at_zero > 0 ||
           sums_.nan_only_in_target + sums_.nan_only_in_golden + sums_.inf_mismatch > 0;
  }

  void find_beyond(int64_t first, const T* target, const T* golden, int64_t count) {
    const auto error_at = [&](int64_t i) {
      const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
      if (std::isfinite(t) && std::isfinite(g)) return std::fabs(t - g);
      const bool agree = t == g || (std::isnan(t) && std::isnan(g));
      return agree ? 0 : std::numeric_limits<double>::infinity();
    };
    for (int64_t i = 0; i < count && !sums_.first_beyond; i += values_) {
      double error = error_at(i), size = std::fabs(static_cast<double>(golden[i]));
      if (values_ == 2) {
        error = std::hypot(error, error_at(i + 1));
        size = std::hypot(size, static_cast<double>(golden[i + 1]));
      }
      if (error > 0 && (!std::isfinite(size) || size == 0 || error / size >= PairSums::kBeyond))
        sums_.first_beyond = first + i;
    }
  }

  // Sorts out the pairs that are not both finite; the rest is a block of its own.
  PairBlock odd_block(const T* target, const T* golden, int64_t count, double* squares) {
    uint16_t places[kPairBlock];
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T t = target[i], g = golden[i];
      sums_.t_nan += std::isnan(t);
      sums_.g_nan += std::isnan(g);
      sums_.t_inf += std::isinf(t);
      sums_.g_inf += std::isinf(g);
      if (std::isfinite(t) && std::isfinite(g)) {
        places[kept] = static_cast<uint16_t>(i);
        finite_.target[kept] = t;
        finite_.golden[kept++] = g;
      } else if (std::isnan(t) && std::isnan(g)) {
        ++sums_.same_nan;
      } else if (std::isnan(t)) {
        ++sums_.nan_only_in_target;
      } else if (std::isnan(g)) {
        ++sums_.nan_only_in_golden;
      } else if (t == g) {
        ++sums_.same_inf;
      } else {
        ++sums_.inf_mismatch;
      }
    }
    PairBlock block;
    if (kept == 0) return block;
    block = kernel_(finite_.target, finite_.golden, kept, parts_, maxima_);
    if (!block.finite)  // huge values: all but the sums is needed
      block = pair_block_scalar(finite_.target, finite_.golden, kept, parts_, maxima_, true);
    if (exponent_ != 0) scale_sums(kept, block);
    block.count = kept;
    for (int64_t i = 0; i < kept && squares != nullptr; ++i) {
      const double d =
          static_cast<double>(finite_.target[i]) - static_cast<double>(finite_.golden[i]);
      squares[places[i]] += d * d;
    }
    return block;
  }

  // Takes the sums again, of scaled values; nothing else may be scaled, since small values vanish.
  void scale_sums(int64_t count, PairBlock& block) {
    for (int64_t i = 0; i < count; ++i) {
      finite_.target[i] = std::ldexp(finite_.target[i], -exponent_);
      finite_.golden[i] = std::ldexp(finite_.golden[i], -exponent_);
    }
    PairMaxima unused;
    const PairBlock scaled =
        kernel_(finite_.target, finite_.golden, count, {.products = true}, unused);
    block.t_sum = scaled.t_sum;
    block.g_sum = scaled.g_sum;
    block.tt = scaled.tt;
    block.gg = scaled.gg;
    block.tg = scaled.tg;
    block.dd = scaled.dd;
    block.abs_sum = scaled.abs_sum;
  }

  void add_block(const PairBlock& b) {
    if (b.count == 0) return;
    // Adding 0.0 leaves no -0: which zero is the smallest would depend on the order.
    const auto widen = [first = sums_.finite == 0](double& low, double& high, double min,
                                                   double max) {
      low = (first ? min : std::min(low, min)) + 0.0;
      high = (first ? max : std::max(high, max)) + 0.0;
    };
    widen(sums_.t_min, sums_.t_max, b.t_min, b.t_max);
    widen(sums_.g_min, sums_.g_max, b.g_min, b.g_max);
    sums_.finite += b.count;
    sums_.t_sum += b.t_sum;
    sums_.g_sum += b.g_sum;
    sums_.tt += b.tt;
    sums_.gg += b.gg;
    sums_.tg += b.tg;
    sums_.dd += b.dd;
    sums_.abs_sum += b.abs_sum;
    sums_.rel_sum += b.rel_sum;
    sums_.rel_below_1e3 += b.rel_below_1e3;
    sums_.rel_below_5e3 += b.rel_below_5e3;
    sums_.off_at_zero += b.off_at_zero;
    sums_.off_by_half += b.off_by_half;
    sums_.equal += b.equal;
    sums_.t_zeros += b.t_zeros;
    sums_.g_zeros += b.g_zeros;
  }

  Kernel kernel_;
  PairParts parts_;
  int exponent_;
  int64_t values_;
  SliceSums* slices_;
  int64_t position_;  // of the piece, in values
  BulkCandidates* candidates_;
  PairSums& sums_;
  PairMaxima maxima_;
  Room<T> finite_;
};

// True if each finite value is a float16 (a bfloat16). Whole groups are told by their bits alone,
// which the compiler does by vectors; what looks odd there is looked at one by one.
constexpr int64_t kGroup = 64;

bool is_half(float value) {
  return !std::isfinite(value) || float_from_half(half_from_float(value)) == value;
}
bool is_bfloat16(float value) {
  return !std::isfinite(value) || (load_le<uint32_t>(&value) & 0xFFFF) == 0;
}
bool are_normal_halves(const float* group) {
  constexpr int32_t kSmallest = 0x38800000, kLargest = 0x477FE000;  // 2^-14, 65504
  int32_t odd = 0;
  for (int64_t i = 0; i < kGroup; ++i) {
    const int32_t size = load_le<int32_t>(group + i) & 0x7FFFFFFF;
    odd |= (size & 0x1FFF) | (size > kLargest ? 1 : 0) | (size < kSmallest && size != 0 ? 1 : 0);
  }
  return odd == 0;
}
bool are_bfloat16(const float* group) {
  uint32_t odd = 0;
  for (int64_t i = 0; i < kGroup; ++i) odd |= load_le<uint32_t>(group + i) & 0xFFFF;
  return odd == 0;
}
bool fit(const float* values, int64_t count, bool (*group_fits)(const float*),
         bool (*fits)(float)) {
  for (int64_t first = 0; first < count; first += kGroup) {
    const int64_t n = std::min(kGroup, count - first);
    if (!fits(values[first])) return false;
    if (n == kGroup && group_fits(values + first)) continue;
    if (!std::all_of(values + first, values + first + n, fits)) return false;
  }
  return true;
}
void look_at_digits(const float* values, int64_t count, bool& half, bool& bfloat16) {
  half = half && fit(values, count, are_normal_halves, is_half);
  bfloat16 = bfloat16 && fit(values, count, are_bfloat16, is_bfloat16);
}
void look_at_digits(const double* values, int64_t count, bool& half, bool& bfloat16) {
  for (int64_t i = 0; i < count && (half || bfloat16); ++i) {
    const auto narrow = static_cast<float>(values[i]);
    if (static_cast<double>(narrow) != values[i] && !std::isnan(values[i])) half = bfloat16 = false;
    look_at_digits(&narrow, 1, half, bfloat16);
  }
}
// Of a piece the first values: what is on no grid shows it soon.
constexpr int64_t kGridLooks = 1024;
template <class T>
void look_at_grid(const T* values, int64_t count, DigitsUsed& digits) {
  for (int64_t i = 0; i < count; ++i) digits.add(static_cast<double>(values[i]));
}
// NaN and infinities do not speak against it.
bool is_whole(double value) { return std::trunc(value) == value || std::isnan(value); }
bool are_whole(const double* group, int64_t count) {
  return std::all_of(group, group + count, is_whole);
}
bool are_whole(const float* group, int64_t count) {
  constexpr float kAllWhole = 0x1p23F;  // from here on
  int32_t odd = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float value = std::fabs(group[i]) < kAllWhole ? group[i] : 0;
    odd |= static_cast<float>(static_cast<int32_t>(value)) != value ? 1 : 0;
  }
  return odd == 0;
}
template <class T>
bool all_whole(const T* values, int64_t count) {
  for (int64_t first = 0; first < count; first += kGroup)
    if (!is_whole(values[first]) || !are_whole(values + first, std::min(kGroup, count - first)))
      return false;
  return true;
}
// Whole, a half of that, or a power of two. From 64 on halves are the steps of bfloat16 itself.
template <class T>
bool is_coarse(T value) {
  int exponent = 0;
  return std::trunc(value) == value || !std::isfinite(value) ||
         (std::trunc(2 * value) == 2 * value && std::fabs(value) < T(64)) ||
         std::fabs(std::frexp(value, &exponent)) == T(0.5);
}
template <class T>
bool are_coarse(const T* values, int64_t count) {
  return std::all_of(values, values + count, is_coarse<T>);
}
bool is_wide_float(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

template <class T>
const T* as_block(DType dtype, const std::byte* data, int64_t count, T* room) {
  const bool same = dtype == (sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64);
  if (same && reinterpret_cast<uintptr_t>(data) % alignof(T) == 0)
    return reinterpret_cast<const T*>(data);
  if (same) {  // members of archives lie anywhere
    std::memcpy(room, data, static_cast<size_t>(count) * sizeof(T));
    return room;
  }
  if constexpr (sizeof(T) == 4) {
    decode_float(dtype, data, count, room);
  } else {
    decode_double(dtype, data, count, room);
  }
  return room;
}

template <class T>
void add_reals(const PairPiece& piece, Adder<T>& adder, PairSums& sums) {
  Room<T> room;
  const int64_t t_item = bits_of(piece.target_dtype) / 8, g_item = bits_of(piece.golden_dtype) / 8;
  const bool t_wide = is_wide_float(piece.target_dtype), g_wide = is_wide_float(piece.golden_dtype);
  const bool t_float = kind_of(piece.target_dtype) == DKind::kFloat;
  const bool g_float = kind_of(piece.golden_dtype) == DKind::kFloat;
  for (int64_t first = 0, n = 0; first < piece.count; first += n) {
    n = adder.block_at(first, piece.count - first);
    const T* t = as_block(piece.target_dtype, piece.target + first * t_item, n, room.target);
    const T* g = as_block(piece.golden_dtype, piece.golden + first * g_item, n, room.golden);
    if (piece.at_hand != nullptr) (*piece.at_hand)(first + n);
    if (t_wide) look_at_digits(t, n, sums.t_fits_half, sums.t_fits_bfloat16);
    if (g_wide) look_at_digits(g, n, sums.g_fits_half, sums.g_fits_bfloat16);
    sums.t_whole = sums.t_whole && (!t_float || all_whole(t, n));
    sums.g_whole = sums.g_whole && (!g_float || all_whole(g, n));
    sums.t_coarse = sums.t_coarse && (sums.t_whole || are_coarse(t, n));
    if (t_wide && first < kGridLooks && (sums.t_fits_half || sums.t_fits_bfloat16))
      look_at_grid(t, std::min(n, kGridLooks - first), sums.t_digits);
    adder.add(first, t, g, n, {piece.target + (first + n) * t_item, t_item},
              {piece.golden + (first + n) * g_item, g_item});
  }
}

__extension__ using Int128 = __int128;

Int128 integer_at(DType dtype, const std::byte* data, int64_t i) {
  switch (dtype) {
    case DType::kInt64: return load_le<int64_t>(data + 8 * i);
    case DType::kUint64: return load_le<uint64_t>(data + 8 * i);
    case DType::kInt32: return load_le<int32_t>(data + 4 * i);
    case DType::kUint32: return load_le<uint32_t>(data + 4 * i);
    case DType::kInt16: return load_le<int16_t>(data + 2 * i);
    case DType::kUint16: return load_le<uint16_t>(data + 2 * i);
    case DType::kInt4:
    case DType::kInt8: return load_le<int8_t>(data + i);
    case DType::kBool: return load_le<uint8_t>(data + i) != 0;
    default: return load_le<uint8_t>(data + i);
  }
}

// A pair of integers of which a double cannot hold every one: the difference is taken before
// anything is rounded.
PairSums sums_of_integers(Int128 target, Int128 golden) {
  const auto t = static_cast<double>(target), g = static_cast<double>(golden);
  const auto d = static_cast<double>(target - golden);
  const double error = std::fabs(d), size = std::fabs(g);
  PairSums one;
  one.finite = 1;
  one.t_sum = one.t_min = one.t_max = t;
  one.g_sum = one.g_min = one.g_max = g;
  one.tt = t * t;
  one.gg = g * g;
  one.tg = t * g;
  one.dd = d * d;
  one.abs_sum = one.abs_max = error;
  one.rel_sum = one.rel_max = golden == 0 ? 0 : error / size;
  one.rel_below_1e3 = target == golden || error < size * 0.001;
  one.rel_below_5e3 = target == golden || error < size * 0.005;
  one.off_at_zero = golden == 0 && target != 0;
  one.off_by_half = golden != 0 && error > size / 2;
  one.equal = target == golden;
  one.t_zeros = target == 0;
  one.g_zeros = golden == 0;
  return one;
}

// True if doubles hold all of these integers.
bool are_exact(DType dtype, const std::byte* data, int64_t count) {
  constexpr uint64_t kLargest = uint64_t{1} << 53;
  bool exact = true;
  if (dtype == DType::kInt64)
    for (int64_t i = 0; i < count; ++i)
      exact &= load_le<uint64_t>(data + 8 * i) + kLargest <= 2 * kLargest;
  if (dtype == DType::kUint64)
    for (int64_t i = 0; i < count; ++i) exact &= load_le<uint64_t>(data + 8 * i) <= kLargest;
  return exact;
}

void add_integer_pairs(const PairPiece& piece, Adder<double>& adder, PairSums& sums) {
  Room<double> room;
  const int64_t t_item = bits_of(piece.target_dtype) / 8, g_item = bits_of(piece.golden_dtype) / 8;
  for (int64_t first = 0, n = 0; first < piece.count; first += n) {
    n = adder.block_at(first, piece.count - first);
    const std::byte* t = piece.target + first * t_item;
    const std::byte* g = piece.golden + first * g_item;
    if (are_exact(piece.target_dtype, t, n) && are_exact(piece.golden_dtype, g, n)) {
      decode_double(piece.target_dtype, t, n, room.target);
      decode_double(piece.golden_dtype, g, n, room.golden);
      adder.add(first, room.target, room.golden, n, {t + n * t_item, t_item},
                {g + n * g_item, g_item});
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      const PairSums one =
          sums_of_integers(integer_at(piece.target_dtype, piece.target, first + i),
                           integer_at(piece.golden_dtype, piece.golden, first + i));
      const bool is_beyond = one.off_at_zero > 0 || one.rel_max >= PairSums::kBeyond;
      if (is_beyond && !sums.first_beyond) sums.first_beyond = first + i;
      sums.append(one);
    }
  }
}

bool is_integer(DType dtype) {
  return kind_of(dtype) == DKind::kInteger || kind_of(dtype) == DKind::kBool;
}

// Complex pairs are compared part by part: two values each.
PairPiece as_parts(PairPiece piece) {
  const auto part = [](DType dtype) {
    return dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  };
  piece.target_dtype = part(piece.target_dtype);
  piece.golden_dtype = part(piece.golden_dtype);
  piece.count *= 2;
  piece.at_hand = nullptr;
  return piece;
}

template <class Kernels>
PairSums sums_of(PairPiece piece, const PairPass& pass, SliceSums* slices, int64_t position,
                 BulkCandidates* candidates) {
  const int64_t values = kind_of(piece.target_dtype) == DKind::kComplex ? 2 : 1;
  if (values == 2) piece = as_parts(piece);
  PairSums sums;
  if (is_integer(piece.target_dtype) && is_integer(piece.golden_dtype) &&
      (is_wide_integer(piece.target_dtype) || is_wide_integer(piece.golden_dtype))) {
    Adder<double> adder(Kernels::template block<double>, pass, values, slices, position, nullptr,
                        sums);
    add_integer_pairs(piece, adder, sums);
  } else if (fits_float(piece.target_dtype) && fits_float(piece.golden_dtype)) {
    Adder<float> adder(Kernels::template block<float>, pass, values, slices, position, candidates,
                       sums);
    add_reals(piece, adder, sums);
  } else {
    Adder<double> adder(Kernels::template block<double>, pass, values, slices, position, nullptr,
                        sums);
    add_reals(piece, adder, sums);
  }
  sums.count = piece.count;
  sums.exponent = pass.exponent;
  if (!pass.products) sums.tg = sums.tg_by_squares();
  sums.equal += sums.same_nan + sums.same_inf;
  sums.has_relative = pass.relative;
  if (!pass.relative) sums.rel_sum = 0;
  sums.has_shares = pass.shares;
  if (sums.has_shares) {
    sums.rel_below_1e3 += sums.same_nan + sums.same_inf;
    sums.rel_below_5e3 += sums.same_nan + sums.same_inf;
  } else {
    sums.rel_below_1e3 = sums.rel_below_5e3 = 0;
    sums.first_beyond.reset();
  }
  return sums;
}

}  // namespace

void PairSums::append(const PairSums& later) {
  if (later.finite > 0) {
    t_min = finite > 0 ? std::min(t_min, later.t_min) : later.t_min;
    t_max = finite > 0 ? std::max(t_max, later.t_max) : later.t_max;
    g_min = finite > 0 ? std::min(g_min, later.g_min) : later.g_min;
    g_max = finite > 0 ? std::max(g_max, later.g_max) : later.g_max;
  }
  if (!first_beyond && later.first_beyond) first_beyond = count + *later.first_beyond;
  count += later.count;
  finite += later.finite;
  same_nan += later.same_nan;
  same_inf += later.same_inf;
  nan_only_in_target += later.nan_only_in_target;
  nan_only_in_golden += later.nan_only_in_golden;
  inf_mismatch += later.inf_mismatch;
  masked += later.masked;
  masked_apart += later.masked_apart;
  t_sum += later.t_sum;
  g_sum += later.g_sum;
  tt += later.tt;
  gg += later.gg;
  tg += later.tg;
  dd += later.dd;
  abs_sum += later.abs_sum;
  abs_max = std::max(abs_max, later.abs_max);
  rel_max = std::max(rel_max, later.rel_max);
  off_at_zero += later.off_at_zero;
  off_by_half += later.off_by_half;
  equal += later.equal;
  t_zeros += later.t_zeros;
  g_zeros += later.g_zeros;
  t_nan += later.t_nan;
  t_inf += later.t_inf;
  g_nan += later.g_nan;
  g_inf += later.g_inf;
  t_fits_half = t_fits_half && later.t_fits_half;
  g_fits_half = g_fits_half && later.g_fits_half;
  t_fits_bfloat16 = t_fits_bfloat16 && later.t_fits_bfloat16;
  g_fits_bfloat16 = g_fits_bfloat16 && later.g_fits_bfloat16;
  t_whole = t_whole && later.t_whole;
  g_whole = g_whole && later.g_whole;
  t_coarse = t_coarse && later.t_coarse;
  t_digits.append(later.t_digits);
  exponent = later.count > 0 ? later.exponent : exponent;
  has_relative = has_relative || later.has_relative;
  has_shares = has_shares || later.has_shares;
  rel_sum += later.rel_sum;
  rel_below_1e3 += later.rel_below_1e3;
  rel_below_5e3 += later.rel_below_5e3;
}

PairSums pair_sums(const PairPiece& piece, const PairPass& pass, SliceSums* slices,
                   int64_t position, BulkCandidates* candidates) {
  return sums_of<Fast>(piece, pass, slices, position, candidates);
}
PairSums pair_sums_scalar(const PairPiece& piece, const PairPass& pass) {
  return sums_of<Reference>(piece, pass, nullptr, 0, nullptr);
}

std::optional<PairPass> better_pass(const PairSums& sums, const PairPass& done) {
  PairPass better = done;
  const double largest =
      std::max({std::fabs(sums.t_min), sums.t_max, std::fabs(sums.g_min), sums.g_max});
  // Between these, neither squares nor sums of 2^40 of them leave the range, and errors of a
  // relative 2^-60 keep all their digits when squared. The power of two itself is a number.
  if (largest != 0 && (largest >= 0x1p480 || largest <= 0x1p-400))
    better.exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  // Eight bits are lost where t * g is this small beside the squares it was taken from.
  const bool both_there = !sums.t_all_zero() && !sums.g_all_zero();
  better.products = better.exponent != 0 ||
                    (both_there && std::fabs(sums.tg) < std::max(sums.tt, sums.gg) * 0x1p-8);
  if (better.exponent == done.exponent && better.products == done.products) return {};
  return better;
}

void DigitsUsed::add(double value) {
  if (value == 0 || !std::isfinite(value)) return;
  constexpr int kMantissa = 53;
  int exponent = 0;
  const double mantissa = std::ldexp(std::fabs(std::frexp(value, &exponent)), kMantissa);
  lowest =
      std::min(lowest, exponent - kMantissa + std::countr_zero(static_cast<uint64_t>(mantissa)));
  ++sizes[static_cast<size_t>(std::clamp(exponent, kSmallest, kLargest) - kSmallest)];
}

void DigitsUsed::append(const DigitsUsed& later) {
  lowest = std::min(lowest, later.lowest);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] += later.sizes[i];
}

int64_t DigitsUsed::unused(int digits_of_type, int lowest_of_type) const {
  int64_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int own = std::max(static_cast<int>(i) + kSmallest - digits_of_type, lowest_of_type);
    if (sizes[i] > 0) sum += sizes[i] * std::max(lowest - own, 0);
  }
  return sum;
}

}  // namespace plumb::metrics
