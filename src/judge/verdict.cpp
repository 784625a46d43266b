// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

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

constexpr double kDoubleInDecibel = 6.0205999132796239;  // 20 log10(2)
constexpr double kLargestFloor = 0.5;

// --- numbers in messages and hints

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

// Three significant digits; near 1 the distance from it matters: 0.99987, 1.0013.
int digits_of(double value) {
  const double distance = std::abs(value - 1);
  if (!(distance > 0 && distance < 0.1)) return 3;  // NaN too
  return std::min(17, static_cast<int>(-std::log10(distance)) + (value > 1 ? 3 : 2));
}

// The nearest short number that is not below (`up`) or not above the value.
double rounded_outwards(double value, bool up) {
  const auto is_outside = [&](double x) { return up ? x >= value : x <= value; };
  const int digits = digits_of(value);
  const double nearest = rounded(value, digits);
  if (is_outside(nearest)) return nearest;
  const double step = std::pow(10, std::floor(std::log10(std::abs(value))) - digits + 1);
  const double next = rounded(up ? nearest + step : nearest - step, digits);
  return is_outside(next) ? next : value;
}

// With as many digits as it takes to see that the limit is broken.
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

// --- one limit

enum class Outcome : uint8_t { kHolds, kNear, kBroken, kUnknown };

// Within a factor of two: the error is more than half of what the limit allows.
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

Outcome outcome_of(const Limit& limit, const Value& value) {
  if (value.is_bound()) {  // from above
    const bool upper =
        limit.comparison == Comparison::kAtMost || limit.comparison == Comparison::kBelow;
    return upper && limit.holds(value.number()) ? Outcome::kHolds : Outcome::kUnknown;
  }
  if (!value.is_defined()) return Outcome::kUnknown;
  if (!limit.holds(value.number())) return Outcome::kBroken;
  return is_near(limit, value.number()) ? Outcome::kNear : Outcome::kHolds;
}

std::string unknown_clause(const Limit& limit, const Value& value) {
  if (value.is_bound())
    return fmt::format("{} is known only to be at most {}", limit.metric->name,
                       rounded_outwards(value.number(), true));
  return fmt::format("{} is undefined: {}", limit.metric->name, value.reason());
}

// --- a row

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

// A failure outweighs a doubt.
void settle(Row& row, Verdict verdict) {
  if (row.verdict != Verdict::kFail) row.verdict = verdict;
}

bool has_reason(const Row& row, std::string_view reason) {
  return std::find(row.reasons.begin(), row.reasons.end(), reason) != row.reasons.end();
}

std::string limit_reason(const Limit& limit) { return fmt::format("limit:{}", limit.metric->name); }

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
        fmt::format("{} infinite on one side, finite or of the other sign on the other",
                    sums.inf_mismatch));
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

// Among values that are close to each other, rounding alone may be a large part of the range.
bool is_rounding(const Limit& limit, const PairFacts& facts) {
  if (limit.metric->name != "max_err_to_range") return false;
  const metrics::PairSums& sums = facts.sums;
  const double largest = std::max(std::abs(sums.g_min), std::abs(sums.g_max));
  return sums.abs_max <= metrics::resolution_of(coarser_dtype(facts)).relative / 2 * largest;
}

void judge_warnings(const Limits& limits, const PairFacts& facts, auto&& value_of, Row& row) {
  const bool all_equal = facts.sums.equal == facts.sums.count;
  for (const Limit& warning : limits.warnings) {
    const Value value = value_of(warning);
    const Outcome outcome = outcome_of(warning, value);
    if (outcome != Outcome::kBroken && (outcome != Outcome::kUnknown || all_equal)) continue;
    row.suspicious = true;
    add(row, fmt::format("warning:{}", warning.metric->name),
        outcome == Outcome::kBroken ? broken_clause(warning, value.number(), facts)
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
    Outcome outcome;
  };
  std::vector<Tested> tested;
  for (const Limit& limit : limits.limits) {
    const Value value = value_of(limit);
    tested.push_back({&limit, value, outcome_of(limit, value)});
    if (tested.back().outcome == Outcome::kBroken && is_rounding(limit, facts))
      tested.back().outcome = Outcome::kNear;
    if (tested.back().outcome == Outcome::kBroken) row.verdict = Verdict::kFail;
    if (tested.back().outcome == Outcome::kUnknown && !all_equal)
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
    if (outcome != Outcome::kBroken) continue;
    add(row, limit_reason(*limit), broken_clause(*limit, value.number(), facts));
    if (const auto looser = loosened(*limit, value.number()))
      hint += (hint.empty() ? "would pass with " : ", ") + to_string(*looser);
    else
      can_loosen = false;
  }
  if (limits.same_bytes) judge_bytes(facts, row);
  for (const auto& [limit, value, outcome] : tested) {
    if (outcome != Outcome::kUnknown || all_equal) continue;
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
    if (outcome != Outcome::kNear) continue;
    row.suspicious = true;
    const bool rounding = !limit->holds(value.number());
    say(row, fmt::format(
                 "{} {} is {} its limit {}", limit->metric->name, text_of(*limit, value.number()),
                 rounding ? "rounding of the coarser type, but beyond" : "near", limit->bound));
  }
}

Limits floor_limits(const Limits& profile, const PairFacts& pair, const PairFacts& noise) {
  const DType coarser = coarser_dtype(pair);
  const double resolution = metrics::resolution_of(coarser).relative;
  Limits floor;
  for (const char* name : {"rel_euclid", "max_err_to_range"}) {
    const Metric* metric = metrics::metric_by_name(name);
    const Value value = metric->finish(noise);
    if (!value.is_defined()) return profile;
    const double bound = std::max(2 * value.number(), resolution);
    floor.limits.push_back({metric, Comparison::kAtMost, std::min(bound, kLargestFloor)});
  }
  return floor;
}

namespace {

// --- records

struct Statistic {
  std::string_view name;
  std::optional<double> Statistics::*value;
};
constexpr Statistic kStatistics[] = {{"min", &Statistics::min},
                                     {"max", &Statistics::max},
                                     {"mean", &Statistics::mean},
                                     {"l2", &Statistics::l2}};

void fail(Row& row, std::string reason, std::string_view clause) {
  row.verdict = Verdict::kFail;
  if (!has_reason(row, reason)) add(row, std::move(reason), clause);
}

void doubt(Row& row, std::string reason, std::string_view clause) {
  settle(row, Verdict::kInconclusive);
  add(row, std::move(reason), clause);
}

void judge_texts(const std::string& target, const std::string& golden, Row& row) {
  if (target != golden) return fail(row, "limit:equal_share", "the recorded values differ");
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

namespace {

// --- estimates

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
  judge_limits(profile.any, true);
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
