// SPDX-License-Identifier: Apache-2.0
//
// Statistics of each side. Numbers are over the pairs of two finite values, as for all metrics; NaN
// and infinities are counted among all values of the side.
#include <algorithm>

#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

struct Side {
  double min, max, sum, squares;
};

Side target_side(const PairSums& s) { return {s.t_min, s.t_max, s.t_sum, s.tt}; }
Side golden_side(const PairSums& s) { return {s.g_min, s.g_max, s.g_sum, s.gg}; }

template <Side (*side)(const PairSums&), class Number>
Value number(const PairFacts& facts, Number&& of) {
  if (const char* why = nothing_finite(facts.sums)) return Value::undefined(why);
  return Value::of(of(facts.sums, side(facts.sums)));
}

double min(const PairSums&, const Side& side) { return side.min; }
double max(const PairSums&, const Side& side) { return side.max; }

double mean(const PairSums& s, const Side& side) {
  return in_unit(s, side.sum / static_cast<double>(s.finite));
}

Value standard_deviation(const PairFacts& facts, const Side& side, double Spread::*squares) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (side.min == side.max) return Value::of(0);
  const auto spread = spread_of(facts);
  if (!spread) return Value::undefined(kNotComputed);
  const double variance = std::max((*spread).*squares, 0.0) / static_cast<double>(s.finite);
  return Value::of(in_unit(s, std::sqrt(variance)));
}

// Not less than the largest value; this matters where squares vanish.
double l2(const PairSums& s, const Side& side) {
  const double largest = std::max(std::fabs(side.min), std::fabs(side.max));
  return std::max(in_unit(s, std::sqrt(side.squares)), largest);
}

Value count(int64_t n) { return Value::of(static_cast<double>(n)); }

}  // namespace

Value target_min(const PairFacts& facts) { return number<target_side>(facts, min); }
Value target_max(const PairFacts& facts) { return number<target_side>(facts, max); }
Value target_mean(const PairFacts& facts) { return number<target_side>(facts, mean); }
Value target_std(const PairFacts& facts) {
  return standard_deviation(facts, target_side(facts.sums), &Spread::tt);
}
Value target_l2(const PairFacts& facts) { return number<target_side>(facts, l2); }
Value target_nan(const PairFacts& facts) { return count(facts.sums.t_nan); }
Value target_inf(const PairFacts& facts) { return count(facts.sums.t_inf); }
Value target_zeros(const PairFacts& facts) { return count(facts.sums.t_zeros); }

Value golden_min(const PairFacts& facts) { return number<golden_side>(facts, min); }
Value golden_max(const PairFacts& facts) { return number<golden_side>(facts, max); }
Value golden_mean(const PairFacts& facts) { return number<golden_side>(facts, mean); }
Value golden_std(const PairFacts& facts) {
  return standard_deviation(facts, golden_side(facts.sums), &Spread::gg);
}
Value golden_l2(const PairFacts& facts) { return number<golden_side>(facts, l2); }
Value golden_nan(const PairFacts& facts) { return count(facts.sums.g_nan); }
Value golden_inf(const PairFacts& facts) { return count(facts.sums.g_inf); }
Value golden_zeros(const PairFacts& facts) { return count(facts.sums.g_zeros); }

}  // namespace plumb::metrics
