// SPDX-License-Identifier: Apache-2.0
//
// Verdicts from records alone: what statistics and checksums prove (see judge/verdict.h).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "judge/clauses.h"
#include "judge/verdict.h"
#include "metrics/resolution.h"

namespace plumb::judge {
namespace {

using result::Row;
using result::Verdict;

struct Statistic {
  std::string_view name;
  std::optional<double> Statistics::*value;
};
constexpr Statistic kStatistics[] = {{"min", &Statistics::min},
                                     {"max", &Statistics::max},
                                     {"mean", &Statistics::mean},
                                     {"l2", &Statistics::l2}};

// What a person can read in a line.
std::string shortened(std::string_view text) {
  constexpr size_t kMost = 40;
  if (text.empty()) text = "nothing";
  return fmt::format("{}{}", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

void judge_texts(const std::string& target, const std::string& golden, Row& row) {
  if (target != golden)
    return fail(row, "limit:equal_share",
                fmt::format("the recorded values differ: {} in target, {} in golden",
                            shortened(target), shortened(golden)));
  if (target.ends_with("..."))  // the dump, or our reader, cut it
    doubt(row, "statistics_only", "the recorded values agree as far as they were kept");
}

void compare_counts(std::optional<int64_t> target, std::optional<int64_t> golden,
                    std::string_view what, const char* more_in_target, const char* more_in_golden,
                    Row& row) {
  if (!target || !golden || *target == *golden) return;
  fail(row, *target > *golden ? more_in_target : more_in_golden,
       fmt::format("{} {} in target, {} in golden", *target, what, *golden));
}

// A statistic that is not finite says that an element is not, or that a sum overflowed.
void judge_recorded_non_finite(const Statistics& target, const Statistics& golden, Row& row) {
  compare_counts(target.nan_count, golden.nan_count, "NaN", "nan_only_in_target",
                 "nan_only_in_golden", row);
  compare_counts(target.inf_count, golden.inf_count, "infinities", "inf_mismatch", "inf_mismatch",
                 row);
  for (const auto& [name, value] : kStatistics) {
    if (!(target.*value) || !(golden.*value)) continue;
    const double t = *(target.*value), g = *(golden.*value);
    const std::string clause = fmt::format("{} is {} in target, {} in golden", name, t, g);
    if (std::isnan(t) && !std::isnan(g))
      fail(row, "nan_only_in_target", clause);
    else if (std::isnan(g) && !std::isnan(t))
      fail(row, "nan_only_in_golden", clause);
    else if (t != g && (std::isinf(t) || std::isinf(g)))
      fail(row, "inf_mismatch", clause);
  }
}

// Whatever the number is between its bounds.
bool must_break(const Limit& limit, const metrics::Bounded& number) {
  switch (limit.comparison) {
    case Comparison::kAtLeast:
    case Comparison::kAbove: return !limit.holds(number.high);
    case Comparison::kAtMost:
    case Comparison::kBelow: return !limit.holds(number.low);
    case Comparison::kWithin: break;
  }
  return (number.high < 1 && !limit.holds(number.high)) ||
         (number.low > 1 && !limit.holds(number.low));
}

// "max_abs is at least 4, which is above 0.1"
std::string proven_clause(const Limit& limit, const metrics::Bounded& number) {
  const std::string_view name = limit.metric->name;
  const bool from_below = std::isinf(number.high) && std::isfinite(number.low);
  const bool from_above = std::isinf(number.low) && std::isfinite(number.high);
  if (!from_below && !from_above) return plain_clause(limit, number.value);
  const std::string clause = plain_clause(limit, number.value);
  const size_t is = clause.find(" is ");
  return fmt::format("{} is at {} {}, which{}", name, from_below ? "least" : "most",
                     text_of(limit, number.value), clause.substr(is));
}

// See is_rounding(): values that look like float32 may have been narrower once.
bool may_be_rounding(const Limit& limit, const Statistics& target, const Statistics& golden) {
  if (limit.metric->name != "max_err_to_range") return false;
  const auto t = recorded_dtype(target.dtype), g = recorded_dtype(golden.dtype);
  const auto is_exact = [](const std::optional<DType>& dtype) {
    return dtype && kind_of(*dtype) != DKind::kFloat;
  };
  if (is_exact(t) && is_exact(g)) return false;
  DType coarsest = DType::kBFloat16;
  for (const auto& dtype : {t, g})
    if (dtype) coarsest = metrics::coarser_of(coarsest, *dtype);
  const double largest =
      std::max(std::abs(golden.min.value_or(0)), std::abs(golden.max.value_or(0)));
  const auto error = proven("max_abs", target, golden);
  return error && error->low <= metrics::resolution_of(coarsest).relative / 2 * largest;
}

bool is_all_zero(const Statistics& s) {
  return s.l2 ? *s.l2 == 0 : s.min && s.max && *s.min == 0 && *s.max == 0;
}

// "max is 480 in target, 4.8 in golden"; empty if extremes do not differ
std::string extremes_clause(const Statistics& target, const Statistics& golden) {
  double largest = 0;
  std::string clause;
  for (const auto& [name, value] : std::span(kStatistics).first(2)) {
    if (!(target.*value) || !(golden.*value)) continue;
    const double t = *(target.*value), g = *(golden.*value);
    if (!(std::abs(t - g) > largest)) continue;
    largest = std::abs(t - g);
    clause = fmt::format("{} is {} in target, {} in golden", name, rounded(t, 6), rounded(g, 6));
  }
  return clause;
}

void judge_recorded_bounds(const Limits& limits, const Statistics& target, const Statistics& golden,
                           Row& row) {
  std::vector<std::pair<const Limit*, metrics::Bounded>> broken;
  for (const Limit& limit : limits.limits)
    if (const auto number = proven(limit.metric->name, target, golden);
        number && must_break(limit, *number) && !may_be_rounding(limit, target, golden))
      broken.emplace_back(&limit, *number);
  if (broken.empty()) return;
  const bool target_is_zero = is_all_zero(target), golden_is_zero = is_all_zero(golden);
  if (golden_is_zero && !target_is_zero) fail(row, "all_zero_golden", "golden is all zeros");
  if (target_is_zero && !golden_is_zero) fail(row, "all_zero_target", "target is all zeros");
  for (const auto& [limit, number] : broken)
    fail(row, limit_reason(*limit), proven_clause(*limit, number));
  if (const std::string clause = extremes_clause(target, golden); !clause.empty()) say(row, clause);
}

// "largest relative difference 0.012 (mean)"
std::string largest_difference(const Statistics& target, const Statistics& golden) {
  double largest = -1;
  std::string_view of;
  for (const auto& [name, value] : kStatistics) {
    if (!(target.*value) || !(golden.*value)) continue;
    const double t = *(target.*value), g = *(golden.*value);
    const double difference = t == g || std::isnan(g) ? 0 : std::abs((t - g) / g);
    if (difference <= largest) continue;
    largest = difference;
    of = name;
  }
  const bool same_text = !target.text.empty() && target.text == golden.text;
  if (largest < 0 && !same_text) return "nothing was recorded on both sides that could be compared";
  if (largest <= 0) return "the recorded statistics agree, which does not prove that the data do";
  return fmt::format("largest relative difference of the recorded statistics is {} ({})",
                     rounded(largest, 3), of);
}

bool is_one_value(const Statistics& s) {
  return s.min && s.max && *s.min == *s.max && std::isfinite(*s.min) &&
         s.nan_count.value_or(0) == 0;
}

}  // namespace

void judge_recorded(const Limits& limits, const Statistics& t, const Statistics& g, Row& row) {
  start(row);
  const auto is_argument = [](const Statistics& side) { return !side.shape && !side.text.empty(); };
  if (is_argument(t) || is_argument(g)) return judge_texts(t.text, g.text, row);

  const bool shapes_known = t.shape && g.shape;
  if (shapes_known && squeezed(*t.shape) != squeezed(*g.shape))
    return fail(row, "shape_mismatch",
                fmt::format("{} in target, {} in golden", plumb::to_string(*t.shape),
                            plumb::to_string(*g.shape)));
  const bool dtypes_known = !t.dtype.empty() && !g.dtype.empty();
  const bool same_dtype = plain_dtype(t.dtype) == plain_dtype(g.dtype);
  if (limits.same_bytes && dtypes_known && !same_dtype)
    return fail(row, "limit:equal_share", fmt::format("target is {}, golden {}", t.dtype, g.dtype));
  if (shapes_known && element_count(*t.shape) == 0)
    return add(row, "empty", "both tensors are empty");

  // Digests of different kinds say nothing.
  const bool checksums = !t.checksum.empty() && t.checksum.size() == g.checksum.size();
  const bool same_sums = checksums && t.checksum == g.checksum;
  if (same_sums && shapes_known && dtypes_known && same_dtype)
    return add(row, "checksum_only", "the checksums agree; there are no data to compare");
  if (checksums && !same_sums && limits.same_bytes)
    return fail(
        row, "limit:equal_share",
        fmt::format("the checksums differ: {} of target, {} of golden", t.checksum, g.checksum));

  judge_recorded_non_finite(t, g, row);
  judge_recorded_bounds(limits, t, g, row);
  if (row.verdict == Verdict::kFail) return;

  const bool statistics = std::any_of(
      std::begin(kStatistics), std::end(kStatistics),
      [&](const Statistic& s) { return (t.*s.value).has_value() && (g.*s.value).has_value(); });
  if (checksums && !statistics)
    return doubt(row, "checksum_only",
                 same_sums ? "the checksums agree, but types or shapes are not known to"
                           : "the checksums differ, which does not say by how much");
  const bool all_agree =
      std::all_of(std::begin(kStatistics), std::end(kStatistics), [&](const Statistic& s) {
        return !(t.*s.value) || !(g.*s.value) || *(t.*s.value) == *(g.*s.value);
      });
  const bool may_pass =
      all_agree && shapes_known && !limits.same_bytes && (!checksums || same_sums);
  if (may_pass && is_one_value(t) && is_one_value(g) && *t.min == *g.min)
    return add(row, "statistics_only", fmt::format("all elements are {} on both sides", *t.min));
  // Bytes of one type: the data are not the same, though this may be next to nothing.
  if (checksums && !same_sums && dtypes_known && same_dtype)
    return doubt(row, "statistics_only",
                 all_agree
                     ? "the data differ, as their checksums do, but no recorded statistic does"
                     : "the data differ, as their checksums do; " + largest_difference(t, g));
  doubt(row, "statistics_only", largest_difference(t, g));
}

}  // namespace plumb::judge
