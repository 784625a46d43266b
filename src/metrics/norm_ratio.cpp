// SPDX-License-Identifier: Apache-2.0
//
// Target's length over golden's: what the cosine cannot see.
#include "metrics/finish.h"

namespace plumb::metrics {

Value norm_ratio(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(1);
  if (s.g_all_zero()) return Value::undefined(kGoldenZero);
  return number_or_lost(std::sqrt(s.tt) / std::sqrt(s.gg));
}

}  // namespace plumb::metrics
