// SPDX-License-Identifier: Apache-2.0
//
// What the functions behind the table of metrics share: the reasons why there is no number, and the
// way back from scaled sums to the data's unit.
#pragma once

#include <cmath>
#include <optional>

#include "metrics/centred_sums.h"
#include "metrics/metric.h"

namespace plumb::metrics {

using Finish = Value(const PairFacts& facts);

inline constexpr const char* kNotComputed = "not computed";
inline constexpr const char* kTargetZero = "target is all zeros";
inline constexpr const char* kGoldenZero = "golden is all zeros";

// Why there is nothing to say about pairs of two finite values; nullptr if there are some.
inline const char* nothing_finite(const PairSums& s) {
  if (s.count == 0) return "tensor is empty";
  if (s.finite == 0) return "no pair of finite values";
  return nullptr;
}

// True if the two values of every finite pair are equal: errors are then exactly 0, whatever the
// sums were rounded to.
inline bool equal_where_finite(const PairSums& s) {
  return s.equal - s.same_nan - s.same_inf == s.finite;
}

// A sum, a norm or a mean in the unit of the data.
inline double in_unit(const PairSums& s, double scaled) { return std::ldexp(scaled, s.exponent); }

// Sums of squares of float64 data vanish or overflow even when scaled if the two sides are more
// than 1e150 apart in size.
inline Value number_or_lost(double number) {
  if (std::isnan(number)) return Value::undefined("squares are beyond the range of float64");
  return Value::of(number);
}

// Sums of squares and products around the means, scaled: from the second pass if there was one.
// nullopt if it was needed, but not asked for.
struct Spread {
  double tt, gg, tg;
};
inline std::optional<Spread> spread_of(const PairFacts& facts) {
  const auto n = static_cast<double>(facts.sums.finite);
  const auto around_means = [n](const auto& s) {
    const double t_mean = s.t_sum / n, g_mean = s.g_sum / n;
    return Spread{s.tt - s.t_sum * t_mean, s.gg - s.g_sum * g_mean, s.tg - s.t_sum * g_mean};
  };
  if (const auto* centred = facts.find<CentredSums>()) return around_means(*centred);
  if (needs_centring(facts.sums)) return std::nullopt;
  return around_means(facts.sums);
}

}  // namespace plumb::metrics
