// SPDX-License-Identifier: Apache-2.0
//
// Errors relative to the golden value, element by element. Where golden is zero there is no such
// ratio: the largest one is then infinite unless target is zero as well, sums leave the pair out.
#include <limits>

#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

// Why a sum of ratios means nothing; nullptr if it does.
const char* no_relative_sum(const PairSums& s) {
  if (const char* why = nothing_finite(s)) return why;
  if (s.g_all_zero() && !s.t_all_zero()) return kGoldenZero;
  return s.has_relative ? nullptr : kNotComputed;
}

Value share_below(const PairSums& s, int64_t below) {
  if (s.count == 0) return Value::undefined(nothing_finite(s));
  if (!s.has_shares) return Value::undefined(kNotComputed);
  return Value::of(static_cast<double>(below) / static_cast<double>(s.count));
}

}  // namespace

Value max_rel(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  return Value::of(s.off_at_zero > 0 ? std::numeric_limits<double>::infinity() : s.rel_max);
}

Value mean_rel(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = no_relative_sum(s)) return Value::undefined(why);
  return Value::of(s.rel_sum / static_cast<double>(s.finite));
}

Value acc_rel(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = no_relative_sum(s)) return Value::undefined(why);
  return Value::of(s.rel_sum);
}

Value rel_below_1e3(const PairFacts& facts) {
  return share_below(facts.sums, facts.sums.rel_below_1e3);
}

Value rel_below_5e3(const PairFacts& facts) {
  return share_below(facts.sums, facts.sums.rel_below_5e3);
}

}  // namespace plumb::metrics
