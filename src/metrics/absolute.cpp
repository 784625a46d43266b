// SPDX-License-Identifier: Apache-2.0
//
// Errors in the unit of the data: the largest, the mean, the root of the mean square, the distance.
#include <algorithm>

#include "metrics/finish.h"

namespace plumb::metrics {

Value max_abs(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  return Value::of(s.abs_max);
}

Value mean_abs(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  return Value::of(in_unit(s, s.abs_sum / static_cast<double>(s.finite)));
}

// No distance is shorter than its longest side; this matters where squares vanish.
Value rmse(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  const auto n = static_cast<double>(s.finite);
  return Value::of(std::max(in_unit(s, std::sqrt(s.dd / n)), s.abs_max / std::sqrt(n)));
}

Value euclid(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  return Value::of(std::max(in_unit(s, std::sqrt(s.dd)), s.abs_max));
}

}  // namespace plumb::metrics
