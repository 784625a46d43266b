// SPDX-License-Identifier: Apache-2.0
#include "metrics/close_share.h"

#include <cmath>
#include <cstring>

#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

void add_pair(double distance, double golden, int64_t weight, Closeness& to) {
  const double scaled = to.tolerance.rtol * std::fabs(golden);
  if (!(distance <= to.tolerance.atol + scaled)) to.not_close += weight;
  if (distance > scaled) to.least_atol = std::max(to.least_atol, distance - scaled);
}

// 64-bit integers are subtracted as they are: a double does not hold them all.
struct Whole {
  bool is_negative;
  uint64_t size;

  static Whole at(DType dtype, const std::byte* data, int64_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, data + i * 8, sizeof bits);
    const bool is_negative = dtype == DType::kInt64 && bits >> 63 != 0;
    return {is_negative, is_negative ? ~bits + 1 : bits};
  }
};

void add_wide_integers(const PairPiece& piece, Closeness& to) {
  for (int64_t i = 0; i < piece.count; ++i) {
    const Whole t = Whole::at(piece.target_dtype, piece.target, i);
    const Whole g = Whole::at(piece.golden_dtype, piece.golden, i);
    const double distance =
        t.is_negative == g.is_negative
            ? static_cast<double>(std::max(t.size, g.size) - std::min(t.size, g.size))
            : static_cast<double>(t.size) + static_cast<double>(g.size);
    add_pair(distance, static_cast<double>(g.size), 1, to);
  }
}

}  // namespace

void Closeness::add(const PairPiece& piece) {
  if (is_wide_integer(piece.target_dtype) && is_wide_integer(piece.golden_dtype))
    return add_wide_integers(piece, *this);
  const bool is_complex = kind_of(piece.target_dtype) == DKind::kComplex;
  for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
    const auto is_finite = [&](int64_t i) { return std::isfinite(t[i]) && std::isfinite(g[i]); };
    for (int64_t i = 0; i < n; ++i) {
      if (!is_finite(i)) continue;
      // A number by its size, if both parts have one.
      if (is_complex && i % 2 == 0 && i + 1 < n && is_finite(i + 1)) {
        add_pair(std::hypot(t[i] - g[i], t[i + 1] - g[i + 1]), std::hypot(g[i], g[i + 1]), 2,
                 *this);
        ++i;
      } else {
        add_pair(std::fabs(t[i] - g[i]), g[i], 1, *this);
      }
    }
  });
}

void Closeness::append(const Closeness& later) {
  not_close += later.not_close;
  least_atol = std::max(least_atol, later.least_atol);
}

int64_t Closeness::off(const PairSums& s) const {
  return s.count - s.finite - s.same_nan - s.same_inf + not_close;
}

Value Closeness::share(const PairSums& s) const {
  if (s.count == 0) return Value::undefined(nothing_finite(s));
  return Value::of(static_cast<double>(s.count - off(s)) / static_cast<double>(s.count));
}

// The sums alone do not tell: whoever compares by a tolerance has a Closeness.
Value close_share(const PairFacts& facts) {
  return Value::undefined(facts.sums.count == 0 ? nothing_finite(facts.sums) : kNotComputed);
}

}  // namespace plumb::metrics
