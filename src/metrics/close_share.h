// SPDX-License-Identifier: Apache-2.0
//
// Which elements are as close as a tolerance asks for: |t - g| <= atol + rtol * |g|, the rule of
// numpy's allclose. Counted piece by piece in the one pass over a pair, exactly.
#pragma once

#include "metrics/metric.h"

namespace plumb::metrics {

inline constexpr std::string_view kCloseShare = "close_share";  // the metric that tells it

struct Tolerance {
  double atol = 0, rtol = 0;
};

// What a pair, or a part of it, is by a tolerance. Of two finite values; complex numbers go by
// their size and count as two values.
struct Closeness {
  Tolerance tolerance;
  int64_t not_close = 0;
  double least_atol = 0;  // that would let all of them pass

  void add(const PairPiece& piece);
  void append(const Closeness& later);
  // Non-finite values that agree are close, others are not.
  int64_t off(const PairSums& sums) const;
  Value share(const PairSums& sums) const;
};

}  // namespace plumb::metrics
