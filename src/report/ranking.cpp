// SPDX-License-Identifier: Apache-2.0
#include "report/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_set>

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
  keyed.reserve(static_cast<size_t>(std::count_if(
      run.rows.begin(), run.rows.end(), [](const Row& row) { return severity_of(row) != kFine; })));
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

const Row* culprit_row(const Run& run, const Summary& s) {
  if (!run.findings.empty() && !run.findings.front().operator_name.empty()) {
    const std::string& name = run.findings.front().operator_name;
    const Row* found = nullptr;
    for (const Row& row : run.rows) {
      if (!row.target || row.target->operator_name != name) continue;
      const bool is_output = row.target->slot.starts_with("output");
      if (is_output && row.verdict != Verdict::kPass && !row.is_excused()) return &row;
      if (found == nullptr || (is_output && !found->target->slot.starts_with("output")))
        found = &row;
    }
    if (found != nullptr) return found;
  }
  return s.first_divergence ? &run.rows[*s.first_divergence] : nullptr;
}

ShownRows rows_to_show(const Run& run, const Summary& s, size_t most) {
  ShownRows shown;
  const std::vector<const Row*> worst = worth_a_look(run);
  std::unordered_set<const Row*> chosen;
  const auto choose = [&](const Row* row) {
    if (chosen.size() < most && chosen.insert(row).second) shown.rows.push_back(row);
  };
  const Row* culprit = run.is_ordered ? culprit_row(run, s) : nullptr;
  if (culprit != nullptr) {
    choose(culprit);
    const auto choose_near = [&](ptrdiff_t step, size_t count) {
      for (auto at = culprit - run.rows.data() + step;
           count > 0 && at >= 0 && at < std::ssize(run.rows); at += step) {
        const Row& row = run.rows[static_cast<size_t>(at)];
        if (row.verdict == Verdict::kNotCompared) continue;
        choose(&row);
        --count;
      }
    };
    choose_near(-1, 3);
    choose_near(1, 3);
  }
  for (const Row* row : worst) choose(row);
  if (run.is_ordered) std::sort(shown.rows.begin(), shown.rows.end());
  shown.more = static_cast<size_t>(std::count_if(
      worst.begin(), worst.end(), [&](const Row* row) { return !chosen.contains(row); }));
  return shown;
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

}  // namespace plumb::report
