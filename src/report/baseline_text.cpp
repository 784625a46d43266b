// SPDX-License-Identifier: Apache-2.0
#include "report/baseline_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/text.h"

namespace plumb::report {
namespace {

using result::Baseline;
using result::Change;
using result::OperatorChange;
using result::Standing;
using result::TensorChange;

constexpr size_t kMostTypes = 4;

// Without a graph, any output tensor counts as an output of the model.
std::string outputs_word(const Baseline& baseline) {
  return baseline.outputs_known ? "output" : "output tensor";
}

// "2 Cast, 1 TransData", the most frequent type first; empty if no type is known.
std::string operator_types_text(const Baseline& baseline, Change change) {
  std::map<std::string_view, int64_t> counts;
  for (const OperatorChange& op : baseline.operators)
    if (op.change == change && !op.type.empty()) ++counts[op.type];
  std::vector<std::pair<std::string_view, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < sorted.size() && i < kMostTypes; ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second, sorted[i].first);
  return sorted.size() > kMostTypes ? text + ", ..." : text;
}

std::string number_text(std::optional<double> number) {
  return number ? rounded_text({"", ""}, metrics::Value::of(*number)) : "undefined";
}

std::string verdict_in_words(result::Verdict verdict) {
  return verdict == result::Verdict::kNotCompared ? "not compared" : std::string(name_of(verdict));
}

}  // namespace

std::string baseline_headline(const Baseline& baseline) {
  if (baseline.outputs_held == 0) return "no output can be held against the baseline";
  const int64_t worse = baseline.count(true, true);
  return fmt::format("{} of {} {} worse than in the baseline", worse,
                     counted(static_cast<size_t>(baseline.outputs_held), outputs_word(baseline)),
                     worse == 1 ? "is" : "are");
}

std::string baseline_text(const Baseline& baseline) {
  std::string text =
      fmt::format("{}: {} of {} worse", baseline.path, baseline.count(true, true),
                  counted(static_cast<size_t>(baseline.outputs_held), outputs_word(baseline)));
  if (const int64_t better = baseline.count(true, false))
    text += fmt::format(", {} better", better);
  if (const int64_t worse = baseline.count(false, true))
    text += fmt::format(", {} worse inside", counted(static_cast<size_t>(worse), "tensor"));
  if (baseline.operators.empty()) return text + ", operators as before";
  bool first = true;
  for (const Change change : {Change::kNew, Change::kGone, Change::kChanged}) {
    const auto count = static_cast<size_t>(baseline.count(change));
    if (count == 0) continue;
    const std::string types = operator_types_text(baseline, change);
    text += fmt::format(", {} {}{}", first ? counted(count, "operator") : fmt::to_string(count),
                        name_of(change), types.empty() ? "" : " (" + types + ")");
    first = false;
  }
  return text;
}

std::string place_text(const TensorChange& change) {
  result::Row row;
  row.target.emplace();
  row.target->operator_name = change.operator_name;
  row.target->slot = change.slot;
  row.step = change.step;
  row.rank = change.rank;
  return place_text(row);
}

std::string numbers_text(const TensorChange& change) {
  const Standing& before = change.before;
  if (!change.after)
    return fmt::format("gone; it had cosine {}, rel_euclid {}, {}", number_text(before.cosine),
                       number_text(before.rel_euclid), verdict_in_words(before.verdict));
  const Standing& after = *change.after;
  std::string text = fmt::format("cosine {} -> {}, rel_euclid {} -> {}", number_text(before.cosine),
                                 number_text(after.cosine), number_text(before.rel_euclid),
                                 number_text(after.rel_euclid));
  if (before.verdict != after.verdict)
    text += fmt::format(", {} -> {}", verdict_in_words(before.verdict),
                        verdict_in_words(after.verdict));
  return text;
}

std::string change_text(const TensorChange& change) {
  return place_text(change) + ": " + numbers_text(change);
}

std::string change_text(const OperatorChange& change) {
  std::string text = change.operator_name;
  if (!change.type.empty()) text += " (" + change.type + ")";
  for (size_t i = 0; i < change.details.size(); ++i)
    text += (i == 0 ? ": " : ", ") + change.details[i];
  return text;
}

}  // namespace plumb::report
