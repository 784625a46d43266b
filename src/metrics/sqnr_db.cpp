// SPDX-License-Identifier: Apache-2.0
//
// The ratio of signal to quantization noise: golden's energy over that of the error, in decibel.
#include <limits>

#include "metrics/finish.h"

namespace plumb::metrics {

Value sqnr_db(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(std::numeric_limits<double>::infinity());
  if (s.g_all_zero()) return Value::undefined(kGoldenZero);
  return number_or_lost(10 * std::log10(s.gg / s.dd));
}

}  // namespace plumb::metrics
