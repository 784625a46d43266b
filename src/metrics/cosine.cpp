// SPDX-License-Identifier: Apache-2.0
//
// The cosine of the angle between two tensors: 1 if they point the same way, whatever their size.
#include <algorithm>

#include "metrics/finish.h"

namespace plumb::metrics {

Value cosine(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(1);  // two zero tensors agree, too
  if (s.t_all_zero()) return Value::undefined(kTargetZero);
  if (s.g_all_zero()) return Value::undefined(kGoldenZero);
  // Two divisions: tt * gg can overflow although neither norm does.
  return number_or_lost(std::clamp(s.tg / std::sqrt(s.tt) / std::sqrt(s.gg), -1.0, 1.0));
}

}  // namespace plumb::metrics
