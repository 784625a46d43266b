// SPDX-License-Identifier: Apache-2.0
//
// The largest error as a share of golden's range. A constant has no range: its size stands in.
#include <algorithm>
#include <limits>

#include "metrics/finish.h"

namespace plumb::metrics {

Value max_err_to_range(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(0);
  const bool constant = s.g_min == s.g_max;
  const double range = constant ? std::fabs(s.g_max) : s.g_max - s.g_min;
  if (range == 0) return Value::of(std::numeric_limits<double>::infinity());
  if (std::isfinite(range)) return Value::of(s.abs_max / range);
  return Value::of(s.abs_max / 2 / (s.g_max / 2 - s.g_min / 2));  // float64 from end to end
}

}  // namespace plumb::metrics
