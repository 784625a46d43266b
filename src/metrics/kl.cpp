// SPDX-License-Identifier: Apache-2.0
//
// Kullback-Leibler divergence of target from golden: see kl_sums.h.
#include "metrics/finish.h"

namespace plumb::metrics {

Value kl(const PairFacts& facts) {
  if (const char* why = nothing_finite(facts.sums)) return Value::undefined(why);
  if (!facts.kl) return Value::undefined(kNotComputed);
  return Value::of(facts.kl->divergence());
}

}  // namespace plumb::metrics
