// SPDX-License-Identifier: Apache-2.0
//
// The share of elements that are plainly wrong. Large values next to small ones (boxes and scores,
// a mask and the scores it leaves) can hide that all the small ones are lost; counting cannot.
#include "metrics/bulk_sums.h"
#include "metrics/finish.h"

namespace plumb::metrics {

Value off_share(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  const int64_t others = s.finite - s.g_zeros;
  if (others == 0 || s.off_by_half == 0) return Value::of(0);
  if (const auto* bulk = facts.find<BulkSums>())
    return Value::of(static_cast<double>(bulk->off_by_half()) / static_cast<double>(others));
  if (auto bound = off_bound(s)) return Value::at_most(*bound);
  return Value::undefined(kNotComputed);
}

}  // namespace plumb::metrics
