// SPDX-License-Identifier: Apache-2.0
//
// Statistics of each side. Numbers are over the pairs of two finite values, as for all metrics; NaN
// and infinities are counted among all values of the side.
#include <algorithm>

#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

struct Side {
  double min, max, sum, squares, spread;
};

Side target_of(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  return {s.t_min, s.t_max, s.t_sum, s.tt, spread_of(facts).tt};
}

Side golden_of(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  return {s.g_min, s.g_max, s.g_sum, s.gg, spread_of(facts).gg};
}

template <Side (*side)(const PairFacts&), class Number>
Value number(const PairFacts& facts, Number&& of) {
  if (const char* why = nothing_finite(facts.sums)) return Value::undefined(why);
  return Value::of(of(facts.sums, side(facts)));
}

double min(const PairSums&, const Side& side) { return side.min; }
double max(const PairSums&, const Side& side) { return side.max; }

double mean(const PairSums& s, const Side& side) {
  return in_unit(s, side.sum / static_cast<double>(s.finite));
}

double standard_deviation(const PairSums& s, const Side& side) {
  if (side.min == side.max) return 0;
  return in_unit(s, std::sqrt(std::max(side.spread, 0.0) / static_cast<double>(s.finite)));
}

// Not less than the largest value; this matters where squares vanish.
double l2(const PairSums& s, const Side& side) {
  const double largest = std::max(std::fabs(side.min), std::fabs(side.max));
  return std::max(in_unit(s, std::sqrt(side.squares)), largest);
}

Value count(int64_t n) { return Value::of(static_cast<double>(n)); }

Value checksum(std::optional<uint32_t> crc32) {
  return crc32 ? Value::of(*crc32) : Value::undefined(kNotComputed);
}

}  // namespace

Value target_min(const PairFacts& facts) { return number<target_of>(facts, min); }
Value target_max(const PairFacts& facts) { return number<target_of>(facts, max); }
Value target_mean(const PairFacts& facts) { return number<target_of>(facts, mean); }
Value target_std(const PairFacts& facts) { return number<target_of>(facts, standard_deviation); }
Value target_l2(const PairFacts& facts) { return number<target_of>(facts, l2); }
Value target_nan(const PairFacts& facts) { return count(facts.sums.t_nan); }
Value target_inf(const PairFacts& facts) { return count(facts.sums.t_inf); }
Value target_zeros(const PairFacts& facts) { return count(facts.sums.t_zeros); }
Value target_crc32(const PairFacts& facts) { return checksum(facts.target_crc32); }

Value golden_min(const PairFacts& facts) { return number<golden_of>(facts, min); }
Value golden_max(const PairFacts& facts) { return number<golden_of>(facts, max); }
Value golden_mean(const PairFacts& facts) { return number<golden_of>(facts, mean); }
Value golden_std(const PairFacts& facts) { return number<golden_of>(facts, standard_deviation); }
Value golden_l2(const PairFacts& facts) { return number<golden_of>(facts, l2); }
Value golden_nan(const PairFacts& facts) { return count(facts.sums.g_nan); }
Value golden_inf(const PairFacts& facts) { return count(facts.sums.g_inf); }
Value golden_zeros(const PairFacts& facts) { return count(facts.sums.g_zeros); }
Value golden_crc32(const PairFacts& facts) { return checksum(facts.golden_crc32); }

}  // namespace plumb::metrics
