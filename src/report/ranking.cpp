// SPDX-License-Identifier: Apache-2.0
#include "report/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "report/shown_graph.h"

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

namespace {

// The places of those that are worth a look.
std::vector<size_t> ranked(const Run& run, const WantsRow& wants = {}) {
  using Key = std::tuple<Severity, double, double>;
  std::vector<std::pair<Key, size_t>> keyed;
  size_t next = 0;
  for (const Row& row : run.rows) {
    const size_t place = next++;
    const Severity severity = severity_of(row);
    if (severity == kFine || (wants && !wants(row))) continue;
    Key key{severity, 0, 0};
    if (severity == kBeyondLimits || severity == kSuspicious)
      key = {severity, goodness(run.value(row, "cosine"), 1),
             goodness(run.value(row, "rel_euclid"), -1)};
    keyed.emplace_back(key, place);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<size_t> places;
  places.reserve(keyed.size());
  for (const auto& [key, place] : keyed) places.push_back(place);
  return places;
}

std::optional<size_t> culprit_place(const Run& run, const Summary& s) {
  if (!run.findings.empty() && !run.findings.front().operator_name.empty()) {
    const std::string& name = run.findings.front().operator_name;
    std::optional<size_t> found;
    bool found_output = false;
    std::optional<size_t> worst;
    double most = 0;
    size_t next = 0;
    for (const Row& row : run.rows) {
      const size_t place = next++;
      if (!row.target || row.target->operator_name != name) continue;
      const bool is_output = row.target->slot.starts_with("output");
      if (is_output && row.verdict != Verdict::kPass && !row.is_excused()) {
        // Of its steps and ranks the one where it is worst; the first, if they are alike.
        const double error = relative_error(run, row);
        if (worst && !(error > 2 * most)) continue;
        worst = place;
        most = std::isnan(error) ? 0 : error;
      }
      if (found && (found_output || !is_output)) continue;
      found = place;
      found_output = is_output;
    }
    if (worst) return worst;
    if (found) return found;
  }
  return s.first_divergence;
}

}  // namespace

ShownRows worth_a_look(const Run& run, size_t most, const WantsRow& wants) {
  ShownRows shown;
  shown.places = ranked(run, wants);
  const size_t count = std::min(most, shown.places.size());
  shown.more = shown.places.size() - count;
  shown.places.resize(count);
  for (const size_t place : shown.places) shown.rows.push_back(&run.rows[place]);
  return shown;
}

const Row* culprit_row(const Run& run, const Summary& s) {
  const auto place = culprit_place(run, s);
  return place ? &run.rows[*place] : nullptr;
}

ShownRows rows_to_show(const Run& run, const Summary& s, size_t most) {
  ShownRows shown;
  const std::vector<size_t> worst = ranked(run);
  std::unordered_set<size_t> chosen;
  const auto choose = [&](size_t place) {
    if (chosen.size() < most && chosen.insert(place).second) shown.places.push_back(place);
  };
  const auto culprit = run.is_ordered ? culprit_place(run, s) : std::nullopt;
  if (culprit) {
    choose(*culprit);
    const auto choose_near = [&](ptrdiff_t step, size_t count) {
      for (auto at = static_cast<ptrdiff_t>(*culprit) + step;
           count > 0 && at >= 0 && at < std::ssize(run.rows); at += step) {
        const auto place = static_cast<size_t>(at);
        if (run.rows[place].verdict == Verdict::kNotCompared) continue;
        choose(place);
        --count;
      }
    };
    choose_near(-1, 3);
    choose_near(1, 3);
  }
  for (const size_t place : worst) choose(place);
  if (run.is_ordered) std::sort(shown.places.begin(), shown.places.end());
  for (const size_t place : shown.places) shown.rows.push_back(&run.rows[place]);
  shown.more = static_cast<size_t>(std::count_if(
      worst.begin(), worst.end(), [&](size_t place) { return !chosen.contains(place); }));
  return shown;
}

Divergence divergence_of(const Run& run, const Summary& s) {
  if (s.first_divergence) return {&run.rows[*s.first_divergence], "first divergence"};
  if (s.fail == 0) return {};
  return {&run.rows[ranked(run).front()], "worst divergence"};
}

std::vector<LeftOut> left_out_by_reason(const Run& run) {
  std::map<std::string, LeftOut> groups;
  size_t place = 0;
  for (const Row& row : run.rows) {
    if (row.verdict == Verdict::kNotCompared) {
      LeftOut& group = groups[row.reasons.empty() ? "unknown" : row.reasons.front()];
      if (group.count++ < LeftOut::kMostNamed) group.rows.push_back(&run.rows[place]);
    }
    ++place;
  }
  std::vector<LeftOut> sorted;
  for (auto& [reason, group] : groups) {
    group.reason = reason;
    sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LeftOut& a, const LeftOut& b) { return a.count > b.count; });
  return sorted;
}

}  // namespace plumb::report
