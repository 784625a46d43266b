// SPDX-License-Identifier: Apache-2.0
//
// Pearson's correlation: the cosine after each side's mean was taken away, so that a common offset
// cannot hide that the rest disagrees.
#include <algorithm>

#include "metrics/finish.h"

namespace plumb::metrics {

Value pearson(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(1);
  const bool t_constant = s.t_min == s.t_max, g_constant = s.g_min == s.g_max;
  if (t_constant && g_constant) return Value::undefined("both sides are constant");
  if (t_constant) return Value::undefined("target is constant");
  if (g_constant) return Value::undefined("golden is constant");
  const auto spread = spread_of(facts);
  if (!spread) return Value::undefined(kNotComputed);
  if (!(spread->tt > 0 && spread->gg > 0))
    return Value::undefined("the spread is lost in rounding");
  return number_or_lost(
      std::clamp(spread->tg / std::sqrt(spread->tt) / std::sqrt(spread->gg), -1.0, 1.0));
}

}  // namespace plumb::metrics
