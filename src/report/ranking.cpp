// SPDX-License-Identifier: Apache-2.0
#include "report/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "report/baseline_text.h"
#include "report/text.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Summary;
using result::Verdict;

bool has_reason(const Row& row, std::string_view reason) {
  return std::find(row.reasons.begin(), row.reasons.end(), reason) != row.reasons.end();
}

enum Severity { kBroken, kBeyondLimits, kDamaged, kUndecided, kSuspicious, kAlone, kFine };

Severity severity_of(const Row& row) {
  switch (row.verdict) {
    case Verdict::kPass: return row.suspicious ? kSuspicious : kFine;
    case Verdict::kFail:
      return std::all_of(row.reasons.begin(), row.reasons.end(),
                         [](const std::string& reason) { return reason.starts_with("limit:"); })
                 ? kBeyondLimits
                 : kBroken;
    case Verdict::kInconclusive: return kUndecided;
    case Verdict::kNotCompared: break;
  }
  if (row.is_excused()) return kFine;
  return has_reason(row, "damaged_file") ? kDamaged : kAlone;
}

// How good a number is, such that no number at all is the worst.
double goodness(const metrics::Value& value, double sign) {
  if (!value.is_defined() || std::isnan(value.number()))
    return -std::numeric_limits<double>::infinity();
  return sign * value.number();
}

}  // namespace

std::vector<const Row*> worth_a_look(const Run& run) {
  using Key = std::tuple<Severity, double, double>;
  std::vector<std::pair<Key, const Row*>> keyed;
  for (const Row& row : run.rows) {
    const Severity severity = severity_of(row);
    if (severity == kFine) continue;
    Key key{severity, 0, 0};
    if (severity == kBeyondLimits || severity == kSuspicious)
      key = {severity, goodness(run.value(row, "cosine"), 1),
             goodness(run.value(row, "rel_euclid"), -1)};
    keyed.emplace_back(key, &row);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Row*> rows;
  for (const auto& [key, row] : keyed) rows.push_back(row);
  return rows;
}

Divergence divergence_of(const Run& run, const Summary& s) {
  if (s.first_divergence) return {&run.rows[*s.first_divergence], "first divergence"};
  if (s.fail == 0) return {};
  return {worth_a_look(run).front(), "worst divergence"};
}

std::vector<LeftOut> left_out_by_reason(const Run& run) {
  std::map<std::string, std::vector<const Row*>> groups;
  for (const Row& row : run.rows)
    if (row.verdict == Verdict::kNotCompared)
      groups[row.reasons.empty() ? "unknown" : row.reasons.front()].push_back(&row);
  std::vector<LeftOut> sorted;
  for (auto& [reason, rows] : groups) sorted.push_back({reason, std::move(rows)});
  std::stable_sort(sorted.begin(), sorted.end(), [](const LeftOut& a, const LeftOut& b) {
    return a.rows.size() > b.rows.size();
  });
  return sorted;
}

namespace {

std::string outputs_text(const Run& run) {
  if (run.outputs_not_compared.empty()) return "";
  return fmt::format("; of the model's outputs, {} not compared",
                     run.outputs_not_compared.size() == 1
                         ? printable(run.outputs_not_compared.front()) + " was"
                         : fmt::format("{} were", run.outputs_not_compared.size()));
}

}  // namespace

std::string headline(const Run& run, const Summary& s) {
  const int64_t compared = s.rows - s.not_compared;
  const int64_t missing = s.not_compared - s.excused();
  std::string text;
  switch (s.verdict) {
    case Verdict::kPass:
      text = compared == 1 ? "the tensor agrees" : fmt::format("all {} tensors agree", compared);
      if (s.suspicious > 0)
        text += compared == 1 ? ", narrowly" : fmt::format(", {} of them narrowly", s.suspicious);
      break;
    case Verdict::kFail:
      if (s.fail > 0)
        text = compared == 1 ? "the tensor differs"
                             : fmt::format("{} of {} compared tensors differ{}", s.fail, compared,
                                           s.fail == 1 ? "s" : "");
      if (run.baseline && !run.baseline->holds())
        text += (text.empty() ? "" : ", and ") + baseline_headline(*run.baseline);
      text += outputs_text(run);
      break;
    case Verdict::kInconclusive:
      text = "no tensor differs";
      if (s.inconclusive > 0)
        text = fmt::format(
            "no difference is proven, {} inconclusive",
            s.inconclusive == 1 ? "1 tensor is" : fmt::format("{} tensors are", s.inconclusive));
      if (missing > 0)
        text += fmt::format(", {} {} {} not compared", s.inconclusive > 0 ? "and" : "but", missing,
                            missing == 1 ? "was" : "were");
      text += outputs_text(run);
      if (!run.doubts.empty()) text += "; the graph does not fit the dump";
      break;
    case Verdict::kNotCompared:
      text = s.rows == 0            ? "there was nothing to compare"
             : s.rows == s.filtered ? "everything was filtered"
                                    : "no pair of tensors could be compared";
      break;
  }
  return text + (run.interrupted ? "; interrupted before the end" : "");
}

std::string totals_text(const Summary& s) {
  std::string text = fmt::format("{} = {} pass + {} fail", s.rows, s.pass, s.fail);
  if (s.inconclusive > 0) text += fmt::format(" + {} inconclusive", s.inconclusive);
  if (s.not_compared > 0) text += fmt::format(" + {} not compared", s.not_compared);
  return text;
}

std::string coverage_text(const Summary& s) {
  const int64_t compared = s.rows - s.not_compared, wanted = s.rows - s.excused();
  const double percent = std::floor(s.coverage * 1000) / 10;
  return fmt::format("{} %, {} of {}", percent, compared,
                     counted(static_cast<size_t>(wanted), "tensor"));
}

}  // namespace plumb::report
