// SPDX-License-Identifier: Apache-2.0
//
// Verdicts from sketches, which estimate cosine and rel_euclid with bounds (see judge/verdict.h).
#include <algorithm>

#include <fmt/format.h>

#include "judge/clauses.h"
#include "judge/verdict.h"

namespace plumb::judge {
namespace {

using metrics::Metric;
using metrics::Value;
using result::Row;
using result::Verdict;

// The number a sketch has for a metric; null if it has none.
const metrics::Bounded* estimated(const metrics::Estimate& estimate, std::string_view metric) {
  if (metric == "cosine") return &estimate.cosine;
  if (metric == "rel_euclid") return &estimate.rel_euclid;
  return nullptr;
}

// "cosine 0.99987 (0.99983 to 0.9999)"
std::string estimate_text(std::string_view name, const metrics::Bounded& b) {
  return fmt::format("{} {} ({} to {})", name, rounded(b.value, digits_of(b.value)),
                     rounded_outwards(b.low, false), rounded_outwards(b.high, true));
}

bool is_float(const std::optional<result::Side>& side, int least_bits = 8) {
  const auto dtype = side ? recorded_dtype(side->dtype) : std::nullopt;
  return dtype && kind_of(*dtype) == DKind::kFloat && bits_of(*dtype) >= least_bits;
}

// As judge() does with numbers that are known.
void mark_near_estimates(const Limits& limits, const metrics::Estimate& e, Row& row) {
  for (const Limit& limit : limits.limits) {
    const metrics::Bounded* number = estimated(e, limit.metric->name);
    if (number == nullptr || !is_near(limit, number->value)) continue;
    row.suspicious = true;
    say(row, fmt::format("{} {} is near its limit {}", limit.metric->name,
                         text_of(limit, number->value), limit.bound));
  }
}

}  // namespace

void judge_estimate(const Profile& profile, const metrics::Estimate& e,
                    std::span<const Metric* const> columns, Row& row) {
  const bool has_failed = row.verdict == Verdict::kFail;
  if (e.undefined != nullptr) {
    if (!has_failed) say(row, fmt::format("the sketches say no more: {}", e.undefined));
    return;
  }
  for (const Metric* metric : columns) {
    const metrics::Bounded* number = estimated(e, metric->name);
    row.values.push_back(number != nullptr ? Value::of(number->value)
                                           : Value::undefined("the dump kept statistics only"));
  }
  if (!has_failed) start(row);
  std::vector<std::string_view> open, not_told;
  const auto judge_limits = [&](const Limits& limits, bool may_fail) {
    for (const Limit& limit : limits.limits) {
      const std::string_view name = limit.metric->name;
      const metrics::Bounded* number = estimated(e, name);
      if (number == nullptr) {
        // That of the recorded norms was judged before.
        if (name != "norm_ratio" &&
            std::find(not_told.begin(), not_told.end(), name) == not_told.end())
          not_told.push_back(name);
      } else if (!limit.holds(number->low) && !limit.holds(number->high)) {
        if (may_fail) fail(row, limit_reason(limit), plain_clause(limit, number->value));
        if (!may_fail) open.push_back(name);
      } else if (!limit.holds(number->low) || !limit.holds(number->high)) {
        open.push_back(name);
      }
    }
  };
  const auto dtype_of = [](const std::optional<result::Side>& side) {
    return side ? recorded_dtype(side->dtype) : std::nullopt;
  };
  judge_limits(profile.for_types(dtype_of(row.target), dtype_of(row.golden)), true);
  if (profile.float32) judge_limits(*profile.float32, false);  // as records do not tell
  const bool decides = open.empty() && not_told.empty() && !profile.any.same_bytes &&
                       is_float(row.target) && is_float(row.golden);
  if (row.verdict != Verdict::kFail && !decides) settle(row, Verdict::kInconclusive);
  add(row, "estimate",
      fmt::format("{}, {}: estimated from sketches, {:.0f} % sure",
                  estimate_text("cosine", e.cosine), estimate_text("rel_euclid", e.rel_euclid),
                  100 * metrics::kSketchConfidence));
  const bool are_wide = is_float(row.target, 32) && is_float(row.golden, 32);
  if (row.verdict == Verdict::kPass)
    mark_near_estimates(are_wide && profile.float32 ? *profile.float32 : profile.any, e, row);
  if (row.verdict != Verdict::kInconclusive) return;
  if (!open.empty()) say(row, fmt::format("too near the limit of {} to tell", open.front()));
  if (!not_told.empty()) say(row, fmt::format("{} cannot be estimated", fmt::join(not_told, ", ")));
}

}  // namespace plumb::judge
