// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "judge/clauses.h"
#include "judge/steps.h"
#include "metrics/checksums.h"
#include "metrics/resolution.h"
#include "metrics/slice_rel_euclid.h"

namespace plumb::judge {
namespace {

using metrics::Better;
using metrics::Metric;
using metrics::PairFacts;
using metrics::Value;
using result::Row;
using result::Verdict;

constexpr double kLargestFloor = 0.5;

std::string broken_clause(const Limit& limit, double value, const PairFacts& facts) {
  std::string clause = plain_clause(limit, value);
  if (limit.metric->slices) clause += fmt::format(" ({})", metrics::worst_slice_text(facts));
  return clause;
}

// The limit that the value would just keep; nullopt if there is none, or if it would be so loose
// that nobody should consider it.
std::optional<Limit> loosened(Limit limit, double value) {
  constexpr double kMost = 10;  // times the error allowed
  const double ideal = limit.metric->better == Better::kLower ? 0 : 1;
  const bool in_decibel = limit.metric->name.ends_with("_db");
  const double allowed =
      limit.comparison == Comparison::kWithin ? limit.bound : std::abs(limit.bound - ideal);
  if (!in_decibel && allowed > 0 && !(std::abs(value - ideal) <= kMost * allowed))
    return std::nullopt;
  switch (limit.comparison) {
    case Comparison::kAtLeast:
    case Comparison::kAbove:
      limit.comparison = Comparison::kAtLeast;
      limit.bound = rounded_outwards(value, false);
      break;
    case Comparison::kAtMost:
    case Comparison::kBelow:
      limit.comparison = Comparison::kAtMost;
      limit.bound = rounded_outwards(value, true);
      break;
    case Comparison::kWithin: limit.bound = rounded_outwards(std::abs(value - 1), true); break;
  }
  if (!std::isfinite(limit.bound) || !limit.holds(value)) return std::nullopt;
  return limit;
}

enum class LimitOutcome : uint8_t { kHolds, kNear, kBroken, kUnknown };

LimitOutcome limit_outcome(const Limit& limit, const Value& value) {
  if (value.is_bound()) {  // from above
    const bool upper =
        limit.comparison == Comparison::kAtMost || limit.comparison == Comparison::kBelow;
    return upper && limit.holds(value.number()) ? LimitOutcome::kHolds : LimitOutcome::kUnknown;
  }
  if (!value.is_defined()) return LimitOutcome::kUnknown;
  if (!limit.holds(value.number())) return LimitOutcome::kBroken;
  return is_near(limit, value.number()) ? LimitOutcome::kNear : LimitOutcome::kHolds;
}

std::string unknown_clause(const Limit& limit, const Value& value) {
  if (value.is_bound())
    return fmt::format("{} is known only to be at most {}", limit.metric->name,
                       rounded_outwards(value.number(), true));
  return fmt::format("{} is undefined: {}", limit.metric->name, value.reason());
}

// Whatever the profile: a number against NaN or infinity is a difference.
void judge_non_finite(const metrics::PairSums& sums, Row& row) {
  if (sums.nan_only_in_target > 0)
    add(row, "nan_only_in_target",
        fmt::format("{} NaN in target where golden has none", sums.nan_only_in_target));
  if (sums.nan_only_in_golden > 0)
    add(row, "nan_only_in_golden",
        fmt::format("{} NaN in golden where target has none", sums.nan_only_in_golden));
  if (sums.inf_mismatch > 0)
    add(row, "inf_mismatch",
        fmt::format("{} infinite{} on one side, finite or of the other sign on the other",
                    sums.inf_mismatch, sums.masked_apart > 0 ? " or masked" : ""));
  if (!row.reasons.empty()) row.verdict = Verdict::kFail;
}

void judge_bytes(const PairFacts& facts, Row& row) {
  if (has_reason(row, "limit:equal_share")) return;
  const auto* crc32 = facts.find<metrics::Checksums>();
  std::string clause;
  if (facts.target_dtype != facts.golden_dtype)
    clause = fmt::format("target is {}, golden {}", name_of(facts.target_dtype),
                         name_of(facts.golden_dtype));
  else if (facts.sums.count == 0 ||
           (crc32 != nullptr && crc32->target.value() == crc32->golden.value()))
    return;
  else if (crc32 != nullptr)
    clause = fmt::format("the bytes differ: checksum {:08x} of target, {:08x} of golden",
                         crc32->target.value(), crc32->golden.value());
  else {
    settle(row, Verdict::kInconclusive);
    return add(row, "undefined:target_crc32", "the bytes were not compared");
  }
  row.verdict = Verdict::kFail;
  add(row, "limit:equal_share", clause);
}

// The coarser of the two types, as the values show them.
DType coarser_dtype(const PairFacts& facts) {
  return metrics::coarser_of(metrics::shown_target_dtype(facts.target_dtype, facts.sums),
                             metrics::shown_golden_dtype(facts.golden_dtype, facts.sums));
}

// Among values that are close to each other, rounding alone may be a large part of the range; among
// a few, one of four logits that is near zero is a large share of them.
bool is_rounding(const Limit& limit, const PairFacts& facts) {
  constexpr int64_t kFew = 16;
  const metrics::PairSums& sums = facts.sums;
  const bool is_share_of_few =
      limit.metric->name == "off_share" && sums.finite - sums.g_zeros < kFew;
  if (limit.metric->name != "max_err_to_range" && !is_share_of_few) return false;
  const double largest = std::max(std::abs(sums.g_min), std::abs(sums.g_max));
  const double steps = is_share_of_few ? 1 : 0.5;
  return sums.abs_max <= steps * metrics::resolution_of(coarser_dtype(facts)).relative * largest;
}

void judge_warnings(const Limits& limits, const PairFacts& facts, auto&& value_of, Row& row) {
  const bool all_equal = facts.sums.equal == facts.sums.count;
  for (const Limit& warning : limits.warnings) {
    const Value value = value_of(warning);
    const LimitOutcome outcome = limit_outcome(warning, value);
    if (outcome != LimitOutcome::kBroken && (outcome != LimitOutcome::kUnknown || all_equal))
      continue;
    row.suspicious = true;
    add(row, fmt::format("warning:{}", warning.metric->name),
        outcome == LimitOutcome::kBroken ? broken_clause(warning, value.number(), facts)
                                         : unknown_clause(warning, value));
  }
}

}  // namespace

void judge(const Limits& limits, const PairFacts& facts, std::span<const Metric* const> columns,
           Row& row) {
  const metrics::PairSums& sums = facts.sums;
  const auto value_of = [&](const Limit& limit) {
    const auto column = std::find(columns.begin(), columns.end(), limit.metric) - columns.begin();
    return column < std::ssize(row.values) ? row.values[static_cast<size_t>(column)]
                                           : limit.metric->finish(facts);
  };
  start(row);
  judge_non_finite(sums, row);
  const bool finite_agrees = row.reasons.empty();

  // Where all values are equal there is no error that an undefined metric could hide.
  const bool all_equal = sums.equal == sums.count;
  struct Tested {
    const Limit* limit;
    Value value;
    LimitOutcome outcome;
  };
  std::vector<Tested> tested;
  tested.reserve(limits.limits.size());
  for (const Limit& limit : limits.limits) {
    const Value value = value_of(limit);
    tested.push_back({&limit, value, limit_outcome(limit, value)});
    if (tested.back().outcome == LimitOutcome::kBroken && is_rounding(limit, facts))
      tested.back().outcome = LimitOutcome::kNear;
    if (tested.back().outcome == LimitOutcome::kBroken) row.verdict = Verdict::kFail;
    if (tested.back().outcome == LimitOutcome::kUnknown && !all_equal)
      settle(row, Verdict::kInconclusive);
  }

  const bool one_is_zero = sums.t_all_zero() != sums.g_all_zero();
  if (row.verdict != Verdict::kPass && one_is_zero) {
    if (sums.g_all_zero())
      add(row, "all_zero_golden", "golden is all zeros");
    else
      add(row, "all_zero_target", "target is all zeros");
  }

  std::string hint;
  bool can_loosen = finite_agrees && !one_is_zero && !limits.same_bytes;
  for (const auto& [limit, value, outcome] : tested) {
    if (outcome != LimitOutcome::kBroken) continue;
    add(row, limit_reason(*limit), broken_clause(*limit, value.number(), facts));
    if (const auto looser = loosened(*limit, value.number()))
      hint += (hint.empty() ? "would pass with " : ", ") + to_string(*looser);
    else
      can_loosen = false;
  }
  if (limits.same_bytes) judge_bytes(facts, row);
  for (const auto& [limit, value, outcome] : tested) {
    if (outcome != LimitOutcome::kUnknown || all_equal) continue;
    add(row, fmt::format("undefined:{}", limit->metric->name), unknown_clause(*limit, value));
    can_loosen = false;
  }
  if (can_loosen) row.hint = std::move(hint);
  if (row.verdict != Verdict::kPass) return;

  if (sums.count == 0) return add(row, "empty", "both tensors are empty");
  if (sums.finite == 0) {
    row.suspicious = true;
    say(row, "no value is finite; NaN and infinities agree in every place");
  }
  judge_warnings(limits, facts, value_of, row);
  for (const auto& [limit, value, outcome] : tested) {
    if (outcome != LimitOutcome::kNear) continue;
    row.suspicious = true;
    const bool rounding = !limit->holds(value.number());
    say(row, fmt::format(
                 "{} {} is {} its limit {}", limit->metric->name, text_of(*limit, value.number()),
                 rounding ? "rounding of the coarser type, but beyond" : "near", limit->bound));
  }
}

void remark_on_ids(const PairFacts& facts, Row& row) {
  const metrics::PairSums& sums = facts.sums;
  if (row.verdict != Verdict::kPass || sums.equal == sums.count || !facts.are_ids.value_or(true) ||
      facts.target_is_dequantized() || !are_exact(facts.target_dtype, facts.golden_dtype))
    return;
  row.suspicious = true;
  add(row, "warning:equal_share",
      fmt::format("{} of {} differ, which the profile allows: wrong if they are ids",
                  sums.count - sums.equal, sums.count));
}

void excuse_rounding_of_shares(const PairFacts& facts, Row& row) {
  constexpr double kSteps = 4;  // of the type: an approximation is good to one or two
  const metrics::PairSums& sums = facts.sums;
  const bool are_wide = bits_of(facts.target_dtype) >= 32 && bits_of(facts.golden_dtype) >= 32;
  const double rounding = kSteps * metrics::resolution_of(DType::kFloat32).relative;
  const bool are_shares =
      std::min(sums.t_min, sums.g_min) >= 0 && std::max(sums.t_max, sums.g_max) <= 1;
  if (row.verdict != Verdict::kFail || !are_wide || !are_shares || sums.finite != sums.count ||
      sums.t_all_zero() != sums.g_all_zero() || !(sums.abs_max <= rounding))
    return;
  const std::string message = row.message;
  start(row);
  row.suspicious = true;
  say(row,
      fmt::format("no error is above {}, rounding of numbers near 1, but all values are tiny: {}",
                  rounded_outwards(sums.abs_max, true), message));
}

std::optional<Limits> floor_limits(const PairFacts& pair, const PairFacts& noise) {
  const DType coarser = coarser_dtype(pair);
  const double resolution = metrics::resolution_of(coarser).relative;
  Limits floor;
  for (const char* name : {"rel_euclid", "max_err_to_range"}) {
    const Metric* metric = metrics::metric_by_name(name);
    const Value value = metric->finish(noise);
    if (!value.is_defined()) return std::nullopt;
    const double bound = std::max(2 * value.number(), resolution);
    floor.limits.push_back({metric, Comparison::kAtMost, std::min(bound, kLargestFloor)});
  }
  return floor;
}

}  // namespace plumb::judge
