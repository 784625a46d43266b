// SPDX-License-Identifier: Apache-2.0
#include "metrics/max_ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "metrics/decoded_pairs.h"
#include "metrics/detail_block.h"
#include "metrics/finish.h"
#include "metrics/resolution.h"
#include "tensor/encode.h"

namespace plumb::metrics {
namespace {

// A place in the order of a type's values, counted from zero.
struct Place {
  bool negative;
  uint64_t steps;
};

int64_t distance(Place a, Place b) {
  uint64_t steps = 0;
  if (a.negative == b.negative)
    steps = a.steps > b.steps ? a.steps - b.steps : b.steps - a.steps;
  else if (__builtin_add_overflow(a.steps, b.steps, &steps))
    steps = UINT64_MAX;
  return static_cast<int64_t>(std::min<uint64_t>(steps, INT64_MAX));
}

// The bits of a float without its sign, read as an integer, count the values from zero.
Place place_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return {bits >> 63 != 0, bits & INT64_MAX};
}
Place place_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return {bits >> 31 != 0, bits & 0x7FFFFFFFU};
}
Place place_of(uint16_t bits) { return {bits >> 15 != 0, bits & 0x7FFFU}; }

// A float from which rounding once more, to fewer bits, gives what rounding the double would have
// given: inexact ones are cut and made odd, so that they never look like the middle between two.
float to_odd(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const auto rounded = static_cast<double>(std::bit_cast<float>(bits));
  if (rounded == value) return std::bit_cast<float>(bits);
  if (std::fabs(rounded) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// The largest distance between the places of two values, `place` taking a finite double.
template <class PlaceOf>
int64_t largest(const PairPiece& piece, PlaceOf&& place) {
  int64_t most = 0;
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (t[i] == g[i] || !(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      most = std::max(most, distance(place(t[i]), place(g[i])));
    }
  });
  return most;
}

int64_t largest_float_steps(const PairPiece& piece) {
  int64_t most = 0;
  const auto raise = [&](const auto* t, const auto* g, int64_t n) {
    most = std::max(most, float_steps_block(t, g, n));
  };
  if (fits_float(part_of(piece.target_dtype)) && fits_float(part_of(piece.golden_dtype)))
    for_each_float_block(piece, raise);
  else
    for_each_block(piece, raise);
  return most;
}

// The same for a type with fewer bits than float32, where finding a place takes longer. Each of its
// steps is at least 2^(23 - mantissa_bits) of float32's, so most blocks and pairs can be seen not
// to exceed the largest distance so far. (One more step makes up for rounding both values to
// float32.)
template <class PlaceOf>
int64_t largest(const PairPiece& piece, int mantissa_bits, PlaceOf&& place) {
  int64_t most = 0;
  const auto may_exceed = [&](int64_t float_steps) {
    return ((float_steps + 1) >> (23 - mantissa_bits)) + 1 > most;
  };
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
    if (!may_exceed(float_steps_block(t, g, n))) return;
    for (int64_t i = 0; i < n; ++i) {
      if (t[i] == g[i] || !(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      const int64_t float_steps =
          distance(place_of(static_cast<float>(t[i])), place_of(static_cast<float>(g[i])));
      if (may_exceed(float_steps)) most = std::max(most, distance(place(t[i]), place(g[i])));
    }
  });
  return most;
}

// 8-bit floats: the finite values from zero up, and the nearest of them. In the middle between two,
// the even place, as hardware does it.
class SmallFloat {
 public:
  explicit SmallFloat(float (*decode)(uint8_t code)) {
    for (int code = 0; code < 256; ++code) {
      const auto value = static_cast<double>(decode(static_cast<uint8_t>(code)));
      if (std::isfinite(value) && !std::signbit(value)) values_.push_back(value);
    }
    std::sort(values_.begin(), values_.end());
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);  // where one more would be
  }

  Place operator()(double value) const {
    const double size = std::fabs(value);
    const auto above = std::lower_bound(values_.begin(), values_.end() - 1, size);
    auto place = static_cast<uint64_t>(above - values_.begin());
    if (place > 0) {
      const double up = *above - size, down = size - above[-1];
      if (down < up || (down == up && place % 2 != 0)) --place;
    }
    return {std::signbit(value), place};
  }

 private:
  std::vector<double> values_;
};

Place exact(DType dtype, const std::byte* data, int64_t i) {
  if (dtype == DType::kUint64) return {false, load_le<uint64_t>(data + 8 * i)};
  int64_t value;
  if (dtype == DType::kInt64) {
    value = load_le<int64_t>(data + 8 * i);
  } else {
    double small;
    decode_double(dtype, data + i * (bits_of(dtype) / 8), 1, &small);
    value = static_cast<int64_t>(small);
  }
  return {value < 0, value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value)};
}

int64_t largest_difference(const PairPiece& piece) {
  if (bits_of(piece.target_dtype) < 64 && bits_of(piece.golden_dtype) < 64)
    return largest(piece, [](double value) {
      return Place{value < 0, static_cast<uint64_t>(std::fabs(value))};
    });
  int64_t most = 0;  // 64 bits are more than a double holds
  for (int64_t i = 0; i < piece.count; ++i)
    most = std::max(most, distance(exact(piece.target_dtype, piece.target, i),
                                   exact(piece.golden_dtype, piece.golden, i)));
  return most;
}

}  // namespace

int64_t max_ulp(const PairPiece& piece) {
  switch (coarser_of(part_of(piece.target_dtype), part_of(piece.golden_dtype))) {
    case DType::kFloat64: return largest(piece, [](double value) { return place_of(value); });
    case DType::kFloat32: return largest_float_steps(piece);
    case DType::kFloat16:
      return largest(piece, 10,
                     [](double value) { return place_of(half_from_float(to_odd(value))); });
    case DType::kBFloat16:
      return largest(piece, 7,
                     [](double value) { return place_of(bfloat16_from_float(to_odd(value))); });
    case DType::kFloat8E4M3Fn: return largest(piece, 3, SmallFloat(float_from_e4m3fn));
    case DType::kFloat8E5M2: return largest(piece, 2, SmallFloat(float_from_e5m2));
    case DType::kHiFloat8: return largest(piece, 3, SmallFloat(float_from_hifloat8));
    default: return largest_difference(piece);
  }
}

namespace {

struct MaxUlp {
  int64_t steps = 0;
  void add(const PairPiece& piece) { steps = std::max(steps, max_ulp(piece)); }
  void append(const MaxUlp& later) { steps = std::max(steps, later.steps); }
};

}  // namespace

constinit const Accumulator kMaxUlp{[](const PairFacts&, bool) { return accumulated(MaxUlp()); }};

// The metric.
Value max_ulp(const PairFacts& facts) {
  if (const char* why = nothing_finite(facts.sums)) return Value::undefined(why);
  const auto* most = facts.find<MaxUlp>();
  if (most == nullptr) return Value::undefined(kNotComputed);
  return Value::of(static_cast<double>(most->steps));
}

}  // namespace plumb::metrics
