// SPDX-License-Identifier: Apache-2.0
//
// Kullback-Leibler divergence of target from golden: see kl_sums.h.
#include "metrics/finish.h"
#include "metrics/kl_sums.h"

namespace plumb::metrics {

Value kl(const PairFacts& facts) {
  if (const char* why = nothing_finite(facts.sums)) return Value::undefined(why);
  const auto* sums = facts.find<KlSums>();
  return sums != nullptr ? Value::of(sums->divergence()) : Value::undefined(kNotComputed);
}

}  // namespace plumb::metrics
