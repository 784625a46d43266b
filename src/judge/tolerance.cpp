// SPDX-License-Identifier: Apache-2.0
#include "judge/tolerance.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/counted.h"

namespace plumb::judge {
namespace {

Limit all_close() {
  return {metrics::metric_by_name(metrics::kCloseShare), Comparison::kAtLeast, 1};
}

double largest_golden(const metrics::PairSums& sums) {
  return std::max(std::abs(sums.g_min), std::abs(sums.g_max));
}

// "would pass with --atol 0.013", three digits and not below it; empty if that is so much that
// nobody should consider it.
std::string looser_atol(const metrics::Tolerance& tolerance, double least) {
  constexpr double kMost = 10;  // times what is allowed now
  if (!(least <= kMost * tolerance.atol)) return {};
  const double step = std::pow(10, std::floor(std::log10(least)) - 2);
  return fmt::format("would pass with --atol {:.3g}", std::ceil(least / step) * step);
}

}  // namespace

Result<std::optional<metrics::Tolerance>> tolerance_from(std::optional<double> atol,
                                                         std::optional<double> rtol) {
  if (!atol && !rtol) return std::optional<metrics::Tolerance>();
  for (const auto& [option, value] : {std::pair{"--atol", atol}, {"--rtol", rtol}})
    if (value && !(std::isfinite(*value) && *value >= 0))
      return Error{"a tolerance is a number from 0 on", fmt::format("{} {}", option, *value),
                   fmt::format("for example {} 0.01", option)};
  return std::optional(metrics::Tolerance{atol.value_or(0), rtol.value_or(0)});
}

LimitRules rules_of_tolerance() {
  Profile profile;
  profile.name = kToleranceRules;
  profile.any.limits = {all_close()};
  return {std::string(kToleranceRules), {{"*", "", std::move(profile)}}};
}

void add_tolerance(LimitRules& rules) {
  for (LimitRule& rule : rules.rules)
    for (Limits* set : rule.profile.sets()) set->limits.push_back(all_close());
}

void explain(const metrics::Closeness& closeness, const metrics::PairSums& sums, bool is_alone,
             result::Row& row) {
  const auto& [tolerance, not_close, least_atol] = closeness;
  const auto say = [&](const std::string& clause) {
    row.message += (row.message.empty() ? "" : "; ") + clause;
  };
  if (const int64_t off = closeness.off(sums); off > 0) {
    say(fmt::format("{} of {} {} further off than atol {} + rtol {} |golden|", off,
                    counted(static_cast<size_t>(sums.count), "element"), off == 1 ? "is" : "are",
                    tolerance.atol, tolerance.rtol));
    const bool is_only_reason = row.reasons == std::vector<std::string>{"limit:close_share"};
    row.hint = is_only_reason ? looser_atol(tolerance, least_atol) : "";
  }
  if (row.verdict != result::Verdict::kPass || sums.equal == sums.count || sums.g_all_zero() ||
      largest_golden(sums) > tolerance.atol)
    return;
  row.suspicious = !is_alone;
  if (is_alone) row.verdict = result::Verdict::kInconclusive;
  row.reasons.emplace_back(is_alone ? "undefined:close_share" : "warning:close_share");
  say(fmt::format(
      "the tolerance exceeds the signal: no value of golden is larger than {:.3g}, atol "
      "is {}",
      largest_golden(sums), tolerance.atol));
}

}  // namespace plumb::judge
