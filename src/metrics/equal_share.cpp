// SPDX-License-Identifier: Apache-2.0
//
// The share of elements that are equal; non-finite ones if they agree in kind and sign.
#include "metrics/finish.h"

namespace plumb::metrics {

Value equal_share(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (s.count == 0) return Value::undefined(nothing_finite(s));
  return Value::of(static_cast<double>(s.equal) / static_cast<double>(s.count));
}

}  // namespace plumb::metrics
