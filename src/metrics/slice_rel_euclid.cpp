// SPDX-License-Identifier: Apache-2.0
#include "metrics/slice_rel_euclid.h"

#include <algorithm>

#include <fmt/format.h>

#include "metrics/finish.h"
#include "metrics/resolution.h"

namespace plumb::metrics {

double ignored_in_slices(const PairFacts& facts) {
  const PairSums& sums = facts.sums;
  const DType coarser = coarser_of(shown_target_dtype(facts.target_dtype, sums),
                                   shown_golden_dtype(facts.golden_dtype, sums));
  const double rms = std::sqrt(sums.gg / static_cast<double>(std::max<int64_t>(sums.finite, 1)));
  return std::max(std::ldexp(resolution_of(coarser).absolute, -sums.exponent), 0x1p-21 * rms);
}

std::string worst_slice_text(const PairFacts& facts) {
  if (!facts.worst_slice) return "";
  const auto& [ratio, axis, index, elements, is_bound] = *facts.worst_slice;
  return fmt::format("axis {}, index {}: {}{} values", axis, index, ratio >= 0.9 ? "all " : "",
                     elements);
}

Value slice_rel_euclid(const PairFacts& facts) {
  if (const char* nothing = nothing_finite(facts.sums)) return Value::undefined(nothing);
  if (!facts.has_slices) return Value::undefined(kNotComputed);
  if (!facts.worst_slice) return Value::of(0);
  const double ratio = facts.worst_slice->ratio;
  return facts.worst_slice->is_bound ? Value::at_most(ratio) : Value::of(ratio);
}

}  // namespace plumb::metrics
