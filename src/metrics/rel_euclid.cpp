// SPDX-License-Identifier: Apache-2.0
//
// The distance between the tensors in units of golden's length.
#include "metrics/finish.h"

namespace plumb::metrics {

Value rel_euclid(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(0);
  if (s.g_all_zero()) return Value::undefined(kGoldenZero);
  return number_or_lost(std::sqrt(s.dd / s.gg));
}

}  // namespace plumb::metrics
