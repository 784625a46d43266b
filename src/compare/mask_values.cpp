// SPDX-License-Identifier: Apache-2.0
#include "compare/mask_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"
#include "metrics/type_limits.h"

namespace plumb::compare {
namespace {

constexpr double kLeastShare = 0.05;
constexpr double kFarOutside = 16;  // times the rest
constexpr double kSame = 0.01;      // relatively
// Smaller ones leave something of what they lower: e^-16 is the last digit of a float32 beside 1.
constexpr double kLeastMark = 16;
constexpr double kHuge = 65000;      // sizes above are as good as infinite: float16 ends there
constexpr double kBandFrom = 5000;   // scores are added to a mask: it may be a band then
constexpr double kRounded = 0x1p-8;  // what bfloat16 makes of a number, relatively

// What masks are made of where nobody chose a number: the end of a type, or what is beyond use.
bool is_end_of_type(double value) {
  constexpr double kEndOfHalf = 65504, kBeyondUse = 1e9;
  return std::abs(value) >= kBeyondUse ||
         std::abs(std::abs(value) - kEndOfHalf) <= kSame * kEndOfHalf;
}

// The value farthest from zero on the side where the mean is.
double extreme_of(const metrics::PairSums& sums) {
  return std::ldexp(sums.g_sum < 0 ? sums.g_min : sums.g_max, -sums.exponent);
}

}  // namespace

void MaskValues::note_type_of_target(DType shown) {
  if (const auto limits = metrics::limits_of(shown)) out_of_range = limits->low * (1 - kSame);
}

bool MaskValues::is_mark(double value) const {
  return std::isfinite(value) && (from < 0 ? value <= from : value >= from);
}

bool MaskValues::agree(double target, double golden) const {
  if (!is_mark(golden) || std::isnan(target)) return false;
  if (std::isinf(target)) return target < 0 && golden <= out_of_range;
  const double same = is_sure ? kSame : kRounded;
  if (std::abs(target - golden) <= same * std::abs(golden)) return true;
  return (target < 0) == (golden < 0) && std::abs(target) >= kHuge && std::abs(golden) >= kHuge &&
         (is_end_of_type(target) || is_end_of_type(golden));
}

// A share p at the extreme value c, and the rest near zero beside it: the mean is about p * c, the
// mean square about p * c^2.
bool may_have_mask(const metrics::PairSums& sums) {
  const double extreme = extreme_of(sums);
  const int64_t fewest = std::abs(extreme) >= std::ldexp(kBandFrom, -sums.exponent) ? 2 : 20;
  if (sums.finite < fewest || sums.g_min == sums.g_max ||
      std::abs(extreme) < std::ldexp(kLeastMark, -sums.exponent))
    return false;
  const double n = static_cast<double>(sums.finite);
  const double by_squares = sums.gg / n / extreme / extreme, by_sum = sums.g_sum / n / extreme;
  const double other = std::ldexp(sums.g_sum < 0 ? sums.g_max : sums.g_min, -sums.exponent);
  return by_squares >= kLeastShare * 0.9 && std::abs(by_sum - by_squares) <= 1.5 / kFarOutside &&
         std::abs(other) <= std::abs(extreme) / kFarOutside;
}

std::optional<MaskValues> find_mask(const metrics::PairSums& sums, std::span<const double> drawn) {
  const double extreme = extreme_of(sums);
  const double size = std::abs(extreme);
  int64_t count = 0, marks = 0;
  double rest = 0, least = size;
  for (double value : drawn) {
    if (!std::isfinite(value)) continue;
    value = std::ldexp(value, -sums.exponent);
    ++count;
    const bool is_mark = std::abs(value) >= size / 2 && (value < 0) == (extreme < 0);
    marks += is_mark;
    if (is_mark) least = std::min(least, std::abs(value));
    if (!is_mark) rest = std::max(rest, std::abs(value));
  }
  const bool is_large = size >= std::ldexp(kBandFrom, -sums.exponent);
  const bool is_band = size - least <= kSame * size && is_large;
  // A few numbers of which one is large are no mask, unless all others are zero; and masks lower.
  const bool are_few = count < 20 || rest == 0;
  const bool is_alone = are_few && (extreme > 0 || (marks == 1 && rest > 0));
  if (static_cast<double>(marks) < kLeastShare * static_cast<double>(count) || marks == count ||
      is_alone || (rest == 0 && !is_large) || rest > size / kFarOutside ||
      !(least == size || is_band))
    return std::nullopt;
  return MaskValues{std::ldexp(extreme / 2, sums.exponent), !are_few};
}

std::optional<MaskValues> find_mask_beside_infinities(std::span<const double> drawn) {
  metrics::PairSums sums;
  for (const double value : drawn)
    if (std::isfinite(value)) sums.g_min = std::min(sums.g_min, value);
  sums.g_sum = sums.g_min;
  return is_end_of_type(sums.g_min) ? find_mask(sums, drawn) : std::nullopt;
}

namespace {

// Both as numbers that hold all of their values.
template <class T>
MaskedPiece::Marks put_marks(const MaskValues& mask, std::vector<T>& target,
                             std::vector<T>& golden) {
  MaskedPiece::Marks marks;
  for (size_t i = 0; i < golden.size(); ++i) {
    const auto t = static_cast<double>(target[i]), g = static_cast<double>(golden[i]);
    // What the target's type holds of a huge mark, where golden has none.
    const bool is_huge = g == 0 && std::abs(mask.from) >= kHuge && std::abs(t) >= kHuge &&
                         std::isfinite(t) && (t < 0) == (mask.from < 0);
    const bool in_target = mask.is_mark(t) || is_huge, in_golden = mask.is_mark(g);
    const T mark = std::copysign(std::numeric_limits<T>::infinity(), static_cast<T>(mask.from));
    if (mask.agree(t, g)) {
      marks.infinite += std::isinf(t);
      target[i] = golden[i] = mark;
      ++marks.agree;
    } else if (in_golden && !in_target && std::isfinite(t)) {
      golden[i] = mark;
      ++marks.only_in_golden;
    } else if (in_target && !in_golden && std::isfinite(g)) {
      target[i] = mark;
      ++marks.only_in_target;
    }
  }
  return marks;
}

}  // namespace

MaskedPiece::MaskedPiece(const metrics::PairPiece& piece, const MaskValues& mask)
    : count_(piece.count) {
  const auto n = static_cast<size_t>(count_);
  if (fits_float(piece.target_dtype) && fits_float(piece.golden_dtype)) {
    floats_[0].resize(n);
    floats_[1].resize(n);
    decode_float(piece.target_dtype, piece.target, count_, floats_[0].data());
    decode_float(piece.golden_dtype, piece.golden, count_, floats_[1].data());
    marks_ = put_marks(mask, floats_[0], floats_[1]);
  } else {
    doubles_[0].resize(n);
    doubles_[1].resize(n);
    decode_double(piece.target_dtype, piece.target, count_, doubles_[0].data());
    decode_double(piece.golden_dtype, piece.golden, count_, doubles_[1].data());
    marks_ = put_marks(mask, doubles_[0], doubles_[1]);
  }
}

metrics::PairPiece MaskedPiece::piece() const {
  const auto bytes = [](const auto& values) {
    return reinterpret_cast<const std::byte*>(values.data());
  };
  if (doubles_[0].empty())
    return {DType::kFloat32, bytes(floats_[0]), DType::kFloat32, bytes(floats_[1]), count_};
  return {DType::kFloat64, bytes(doubles_[0]), DType::kFloat64, bytes(doubles_[1]), count_};
}

}  // namespace plumb::compare
