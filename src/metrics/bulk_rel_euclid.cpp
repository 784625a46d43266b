// SPDX-License-Identifier: Apache-2.0
//
// The relative distance over the 99 % of elements with the smallest |golden|: see bulk_sums.h.
#include "metrics/bulk_sums.h"
#include "metrics/finish.h"

namespace plumb::metrics {

Value bulk_rel_euclid(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(0);
  if (const auto* bulk = facts.find<BulkSums>()) return Value::of(bulk->rel_euclid());
  if (auto bound = bulk_bound(s)) return Value::at_most(*bound);
  return Value::undefined(kNotComputed);
}

}  // namespace plumb::metrics
