// SPDX-License-Identifier: Apache-2.0
//
// Values rounded or cut off to a narrower type. Not quantization: that has a scale, and its error
// is not that of the type itself.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/transform_families.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::diagnose {
namespace {

constexpr double kLeastEqual = 0.97;  // share of the sample

enum class Rounding { kNearest, kTowardsZero, kDown };
enum class Overflow { kLimit, kWrap };

constexpr DType kIntegers[] = {DType::kInt8,   DType::kUint8, DType::kInt16,
                               DType::kUint16, DType::kInt32, DType::kUint32};

double whole(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest: return std::nearbyint(value);
    case Rounding::kTowardsZero: return std::trunc(value);
    case Rounding::kDown: break;
  }
  return std::floor(value);
}

double to_integer(double value, DType dtype, Rounding rounding, Overflow overflow) {
  const double values = std::ldexp(1.0, bits_of(dtype));
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32;
  const double low = is_signed ? -values / 2 : 0;
  const double number = whole(value, rounding);
  if (overflow == Overflow::kLimit) return std::clamp(number, low, low + values - 1);
  return number - values * std::floor((number - low) / values);
}

// Cut off: the bits below those of the type are lost.
double to_half(double value, Rounding rounding) {
  const auto single = static_cast<float>(value);
  const uint16_t bits = half_from_float(single);
  const float nearest = float_from_half(bits);
  if (rounding == Rounding::kNearest || std::fabs(nearest) <= std::fabs(single)) return nearest;
  return float_from_half(static_cast<uint16_t>(bits - 1));
}

double to_bfloat16(double value, Rounding rounding) {
  const auto single = static_cast<float>(value);
  if (rounding == Rounding::kNearest) return float_from_bfloat16(bfloat16_from_float(single));
  return float_from_bfloat16(static_cast<uint16_t>(std::bit_cast<uint32_t>(single) >> 16));
}

// The numbers of a type of 8 bits, none negative: all of these types are symmetric.
class Codes {
 public:
  explicit Codes(float (*decode)(uint8_t)) {
    for (int code = 0; code < 256; ++code) {
      const double value = decode(static_cast<uint8_t>(code));
      if (std::isfinite(value) && value >= 0) values_.push_back(value);
    }
    std::sort(values_.begin(), values_.end());
  }
  double rounded(double value, Rounding rounding) const {
    const double size = std::fabs(value);
    const auto above = std::upper_bound(values_.begin(), values_.end(), size);
    const double below = *(above - 1);  // 0 is a number
    const bool is_up =
        rounding == Rounding::kNearest && above != values_.end() && *above - size < size - below;
    return std::copysign(is_up ? *above : below, value);
  }

 private:
  std::vector<double> values_;
};

using Cast = std::function<double(double)>;

// A value that the noise carries over the edge between two roundings has two of them: golden's
// target is what either says. A quarter of a step is the most that may be excused.
std::optional<double> remaining_after_cast(const Problem& problem, double finest,
                                           const Cast& cast) {
  const auto predict = [&](int64_t i) {
    const double g = problem.golden[static_cast<size_t>(i)];
    const double t = problem.target[static_cast<size_t>(i)];
    const double p = cast(g);
    if (p == t) return p;
    const double step = finest > 0 ? finest * std::fabs(g) : 1;
    const double blur = std::min(2 * problem.noise * std::fabs(g), step / 4);
    return cast(g + blur) == t || cast(g - blur) == t ? t : p;
  };
  // Near is not enough: the other ways of rounding are near, too.
  int64_t equal = 0;
  for (const int64_t i : problem.sample)
    equal += predict(i) == problem.target[static_cast<size_t>(i)] ? 1 : 0;
  if (static_cast<double>(equal) < kLeastEqual * static_cast<double>(problem.sample.size()))
    return std::nullopt;
  return remaining_after(problem, predict, {.alternatives = 32});
}

const char* words(Rounding rounding) {
  return rounding == Rounding::kNearest ? "rounded" : "cut off";
}

void add_cast_claim(DType dtype, const char* how, double left, std::vector<Claim>& claims) {
  claims.push_back({fmt::format("cast:{}", name_of(dtype)),
                    fmt::format("the target is golden {} to {}", how, name_of(dtype)), left});
}

bool find_integer(const Problem& problem, std::vector<Claim>& claims) {
  const bool is_known = kind_of(problem.target_dtype) == DKind::kInteger;
  for (const DType dtype : kIntegers) {
    if (is_known && dtype != problem.target_dtype) continue;
    for (const Overflow overflow : {Overflow::kLimit, Overflow::kWrap}) {
      for (const Rounding rounding :
           {Rounding::kNearest, Rounding::kTowardsZero, Rounding::kDown}) {
        const auto left = remaining_after_cast(
            problem, 0, [&](double g) { return to_integer(g, dtype, rounding, overflow); });
        if (!left) continue;
        add_cast_claim(dtype, overflow == Overflow::kWrap ? "wrapped around" : words(rounding),
                       *left, claims);
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void find_cast(const Problem& problem, std::vector<Claim>& claims) {
  if (find_integer(problem, claims)) return;
  struct Narrow {
    DType dtype;
    double step;  // relative, of normal numbers: the finest
    std::function<double(double, Rounding)> cast;
  };
  const auto codes = [](float (*decode)(uint8_t)) {
    return
        [table = Codes(decode)](double g, Rounding rounding) { return table.rounded(g, rounding); };
  };
  const Narrow narrow[] = {
      {DType::kFloat16, 0x1p-11, to_half},
      {DType::kBFloat16, 0x1p-8, to_bfloat16},
      {DType::kFloat8E4M3Fn, 0x1p-4, codes(float_from_e4m3fn)},
      {DType::kFloat8E5M2, 0x1p-3, codes(float_from_e5m2)},
      {DType::kHiFloat8, 0x1p-4, codes(float_from_hifloat8)},
  };
  for (const auto& [dtype, step, cast] : narrow) {
    for (const Rounding rounding : {Rounding::kNearest, Rounding::kTowardsZero}) {
      const auto left = remaining_after_cast(
          problem, step, [&, &cast = cast](double g) { return cast(g, rounding); });
      if (!left) continue;
      add_cast_claim(dtype, words(rounding), *left, claims);
      return;
    }
  }
}

}  // namespace plumb::diagnose
