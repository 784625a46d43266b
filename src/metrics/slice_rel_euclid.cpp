// SPDX-License-Identifier: Apache-2.0
#include "metrics/slice_rel_euclid.h"

#include <algorithm>

#include <fmt/format.h>

#include "metrics/bulk_sums.h"
#include "metrics/finish.h"
#include "metrics/lost_elements.h"
#include "metrics/resolution.h"

namespace plumb::metrics {

double ignored_in_slices(const PairFacts& facts) {
  const PairSums& sums = facts.sums;
  const DType coarser = coarser_of(shown_target_dtype(facts.target_dtype, sums),
                                   shown_golden_dtype(facts.golden_dtype, sums));
  const double rms = std::sqrt(sums.gg / static_cast<double>(std::max<int64_t>(sums.finite, 1)));
  return std::max(std::ldexp(resolution_of(coarser).absolute, -sums.exponent), 0x1p-21 * rms);
}

namespace {

std::optional<BulkSums::WorstBand> worst_band(const PairFacts& facts) {
  const auto* bulk = facts.find<BulkSums>();
  return bulk != nullptr && facts.may_lose_band ? bulk->worst_band(ignored_in_slices(facts))
                                                : std::nullopt;
}

const char* all_if_lost(double ratio) { return ratio >= 0.9 ? "all " : ""; }

std::optional<LostElements::Worst> lost_elements(const PairFacts& facts) {
  const auto* lost = facts.find<LostElements>();
  return lost != nullptr ? lost->worst() : std::nullopt;
}

}  // namespace

std::string worst_slice_text(const PairFacts& facts) {
  const auto band = worst_band(facts);
  const auto& slice = facts.worst_slice;
  const auto lost = lost_elements(facts);
  if (lost && (!band || lost->ratio > band->ratio) && (!slice || lost->ratio > slice->ratio))
    return facts.find<LostElements>()->text(*lost);
  if (slice && (!band || slice->ratio >= band->ratio))
    return fmt::format("axis {}, index {}: {}{} values", slice->axis, slice->index,
                       all_if_lost(slice->ratio), slice->elements);
  if (!band) return "";
  const double from = in_unit(facts.sums, band->from);
  return fmt::format("golden between {:.3g} and {:.3g}: {}{} values", from, 2 * from,
                     all_if_lost(band->ratio), band->elements);
}

Value slice_rel_euclid(const PairFacts& facts) {
  if (const char* nothing = nothing_finite(facts.sums)) return Value::undefined(nothing);
  if (!facts.has_slices) return Value::undefined(kNotComputed);
  if (facts.may_lose_band && facts.find<BulkSums>() == nullptr)
    return Value::undefined(kNotComputed);
  const auto band = worst_band(facts);
  const auto& slice = facts.worst_slice;
  const auto lost = lost_elements(facts);
  const double ratio =
      std::max({band ? band->ratio : 0, slice ? slice->ratio : 0, lost ? lost->ratio : 0});
  const bool is_bound = slice && slice->is_bound && slice->ratio == ratio;
  return is_bound ? Value::at_most(ratio) : Value::of(ratio);
}

}  // namespace plumb::metrics
