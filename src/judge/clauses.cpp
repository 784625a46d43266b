// SPDX-License-Identifier: Apache-2.0
#include "judge/clauses.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/number_from_text.h"

namespace plumb::judge {

using metrics::Better;
using result::Row;
using result::Verdict;

namespace {

constexpr double kDoubleInDecibel = 6.0205999132796239;  // 20 log10(2)

}  // namespace

double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return number_from_text<double>(text).value_or(value);  // the largest may have no such neighbour
}

int digits_of(double value) {
  const double distance = std::abs(value - 1);
  if (!(distance > 0 && distance < 0.1)) return 3;  // NaN too
  return std::min(17, static_cast<int>(-std::log10(distance)) + (value > 1 ? 3 : 2));
}

double rounded_outwards(double value, bool up) {
  const auto is_outside = [&](double x) { return up ? x >= value : x <= value; };
  const int digits = digits_of(value);
  const double nearest = rounded(value, digits);
  if (is_outside(nearest)) return nearest;
  const double step = std::pow(10, std::floor(std::log10(std::abs(value))) - digits + 1);
  const double next = rounded(up ? nearest + step : nearest - step, digits);
  return is_outside(next) ? next : value;
}

std::string text_of(const Limit& limit, double value) {
  if (limit.metric->print == metrics::Print::kCount) return fmt::format("{}", value);
  for (int digits = digits_of(value); digits < 17; ++digits)
    if (const double shorter = rounded(value, digits); limit.holds(shorter) == limit.holds(value))
      return fmt::format("{}", shorter);
  return fmt::format("{}", value);
}

std::string plain_clause(const Limit& limit, double value) {
  const std::string_view name = limit.metric->name;
  if (std::isnan(value)) return fmt::format("{} is not a number", name);
  const std::string number = text_of(limit, value);
  switch (limit.comparison) {
    case Comparison::kAtLeast: return fmt::format("{} {} is below {}", name, number, limit.bound);
    case Comparison::kAbove: return fmt::format("{} {} is not above {}", name, number, limit.bound);
    case Comparison::kAtMost: return fmt::format("{} {} is above {}", name, number, limit.bound);
    case Comparison::kBelow: return fmt::format("{} {} is not below {}", name, number, limit.bound);
    case Comparison::kWithin: break;
  }
  return fmt::format("{} {} is not within {} of 1", name, number, limit.bound);
}

bool is_near(const Limit& limit, double value) {
  if (limit.metric->better == Better::kNeither) return false;
  const double ideal = limit.metric->better == Better::kLower ? 0 : 1;
  switch (limit.comparison) {
    case Comparison::kAtLeast:
    case Comparison::kAbove:
      if (limit.metric->name.ends_with("_db")) return value < limit.bound + kDoubleInDecibel;
      return ideal - value > (ideal - limit.bound) / 2;
    case Comparison::kAtMost:
    case Comparison::kBelow: return value - ideal > (limit.bound - ideal) / 2;
    case Comparison::kWithin: break;
  }
  return std::abs(value - 1) > limit.bound / 2;
}

void start(Row& row) {
  row.verdict = Verdict::kPass;
  row.suspicious = false;
  row.reasons.clear();
  row.message.clear();
  row.hint.clear();
}

void say(Row& row, std::string_view clause) {
  if (!row.message.empty()) row.message += "; ";
  row.message += clause;
}

void add(Row& row, std::string reason, std::string_view clause) {
  row.reasons.push_back(std::move(reason));
  say(row, clause);
}

void settle(Row& row, Verdict verdict) {
  if (row.verdict != Verdict::kFail) row.verdict = verdict;
}

bool has_reason(const Row& row, std::string_view reason) {
  return std::find(row.reasons.begin(), row.reasons.end(), reason) != row.reasons.end();
}

std::string limit_reason(const Limit& limit) { return fmt::format("limit:{}", limit.metric->name); }

void fail(Row& row, std::string reason, std::string_view clause) {
  row.verdict = Verdict::kFail;
  if (!has_reason(row, reason)) add(row, std::move(reason), clause);
}

void doubt(Row& row, std::string reason, std::string_view clause) {
  settle(row, Verdict::kInconclusive);
  add(row, std::move(reason), clause);
}

}  // namespace plumb::judge
