// SPDX-License-Identifier: Apache-2.0
#include "dialect/msprobe/real_data.h"

#include <cmath>
#include <limits>

#include "base/shortest.h"

namespace plumb::msprobe {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Undefined metrics of data that agree wherever they are not finite stand for nothing to differ.
double number_or(const metrics::PairFacts& facts, std::string_view name, double otherwise) {
  const metrics::Value value = metrics::metric_by_name(name)->finish(facts);
  return value.is_defined() ? value.number() : otherwise;
}

SideNumbers measured_numbers(const metrics::PairFacts& facts, std::string_view max,
                             std::string_view min, std::string_view mean, std::string_view l2) {
  return {number_or(facts, max, kNotANumber), number_or(facts, min, kNotANumber),
          number_or(facts, mean, kNotANumber), number_or(facts, l2, kNotANumber)};
}

}  // namespace

void Judged::add(std::string_view clause, std::string_view its_level) {
  if (!clause.empty()) clauses.push_back({its_level, std::string(clause)});
}

void Judged::fail(std::string_view clause) {
  add(clause, "error");
  level = "error";
}

void Judged::warn(std::string_view clause) {
  add(clause, "warning");
  if (level != "error") level = "warning";
}

std::string Judged::message() const {
  std::string text;
  for (const Clause& clause : clauses) (text += text.empty() ? "" : "; ") += clause.text;
  return text;
}

void append_number(std::string& text, std::optional<double> number) {
  if (!number)
    text += "N/A";
  else if (std::isnan(*number))
    text += "NaN";
  else if (std::isinf(*number))
    text += *number < 0 ? "-inf" : "inf";
  else {
    char digits[kShortestRoom];
    text.append(+digits, write_shortest(digits, *number));
  }
}

std::string text_of(std::optional<double> number) {
  std::string text;
  append_number(text, number);
  return text;
}

RealData real_data(const metrics::PairFacts& facts) {
  const metrics::PairSums& s = facts.sums;
  RealData data;
  if (s.count == 0) {
    data.is_empty = true;
    data.remark = "both tensors are empty";
    return data;
  }
  data.target = measured_numbers(facts, "target_max", "target_min", "target_mean", "target_l2");
  data.golden = measured_numbers(facts, "golden_max", "golden_min", "golden_mean", "golden_l2");
  const auto share = [&](int64_t n) {
    return static_cast<double>(n) / static_cast<double>(s.count);
  };
  data.below_1e3 = share(s.rel_below_1e3);
  data.below_5e3 = share(s.rel_below_5e3);
  if (s.first_beyond)
    data.first_bad = *s.first_beyond / (kind_of(facts.target_dtype) == DKind::kComplex ? 2 : 1);
  const int64_t nan = s.nan_only_in_target + s.nan_only_in_golden;
  if (nan > 0 || s.inf_mismatch > 0) {
    // What IEEE arithmetic makes of them: inf / inf is NaN, whatever else there is.
    data.cosine = kNotANumber;
    data.euclid = data.max_abs = nan > 0 ? kNotANumber : kInfinity;
    data.max_rel = nan > 0 || s.g_inf > s.same_inf ? kNotANumber : kInfinity;
    const bool in_target = s.nan_only_in_target > 0 || s.t_inf > s.same_inf;
    const bool in_golden = s.nan_only_in_golden > 0 || s.g_inf > s.same_inf;
    data.remark = !in_target   ? "golden has NaN or inf that target has not"
                  : !in_golden ? "target has NaN or inf that golden has not"
                               : "target has other NaN or inf than golden";
  } else {
    const bool t_zero = s.t_all_zero(), g_zero = s.g_all_zero();
    data.cosine = number_or(facts, "cosine", t_zero != g_zero ? kNotANumber : 1);
    data.euclid = number_or(facts, "euclid", 0);
    data.max_abs = number_or(facts, "max_abs", 0);
    data.max_rel = number_or(facts, "max_rel", 0);
    if (t_zero != g_zero)
      data.remark = t_zero ? "all values are zero in target" : "all values are zero in golden";
  }
  if (s.count == 1) {
    data.is_single = true;
    data.cosine.reset();
    if (*data.remark == '\0' || std::string_view(data.remark).starts_with("all values"))
      data.remark = "cosine needs at least two elements";
  }
  return data;
}

Judged judge(const RealData& data) {
  Judged judged;
  judged.add(data.remark);
  if (data.is_empty) {
    judged.result = "PASS";
  } else {
    const bool points_the_same_way = data.is_single || *data.cosine >= 0.99;
    judged.result = points_the_same_way && *data.max_rel < kRelativeLimit ? "PASS" : "FAIL";
  }
  const bool is_pass = judged.result == "PASS";
  bool is_reached = is_pass;
  if (!is_pass && data.is_single) is_reached = *data.max_abs <= 0.001;
  if (!is_pass && !data.is_single)  // only tiny elements are off; false for NaN
    is_reached = *data.cosine >= 0.9 && *data.max_abs <= 1 &&
                 (*data.cosine >= 0.99 || *data.max_abs <= 0.001);
  judged.accuracy = is_reached ? "Yes" : "No";
  const bool is_thin = is_pass && !data.is_empty &&
                       ((!data.is_single && *data.cosine < 0.999) || *data.max_rel > 0.005);
  judged.level = !is_pass ? "error" : is_thin ? "warning" : "pass";
  return judged;
}

std::string_view accuracy_of(const RealData& data, bool is_whole) {
  if (data.is_empty) return "Yes";
  if (is_whole) return *data.max_abs == 0 ? "Yes" : "No";
  const Judged judged = judge(data);
  if (judged.result == "PASS" || judged.accuracy != "Yes") return judged.accuracy;
  const double golden = data.golden->l2;
  return std::fabs(data.target->l2 - golden) <= kGoodNorm * golden ? "Yes" : "No";
}

}  // namespace plumb::msprobe
