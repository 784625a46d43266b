// SPDX-License-Identifier: Apache-2.0
#include "judge/baseline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "tensor/shape.h"

namespace plumb::judge {
namespace {

using result::Baseline;
using result::Change;
using result::OperatorChange;
using result::Row;
using result::Run;
using result::Side;
using result::Standing;
using result::TensorChange;
using result::Verdict;

// ------------------------------------------------------------ the same tensor in both runs

// Operator, slot, kind of slot, graph, step, rank.
using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view,
                       std::optional<int64_t>, std::optional<int64_t>>;

std::string_view kind_of(std::string_view slot) { return slot.substr(0, slot.find(':')); }

// Which parts of a key tell rows of one run apart. A model's name or the step that happened to be
// dumped changes from one version to the next.
struct Parts {
  bool graph = false, step = false, rank = false;

  void note(const Run& run) {
    if (run.rows.all().empty()) return;
    const Row& first = run.rows.all().front();
    for (const Row& row : run.rows.all()) {
      graph |= row.graph != first.graph;
      step |= row.step != first.step;
      rank |= row.rank != first.rank;
    }
  }
  Key key(const Row& row, const Side& side, std::string_view kind) const {
    return {side.operator_name,
            side.slot,
            kind,
            graph ? std::string_view(row.graph) : std::string_view(),
            step ? row.step : std::nullopt,
            rank ? row.rank : std::nullopt};
  }
};

// For each row of `before` its row of `now`, nullptr if there is none.
struct Pairs {
  std::vector<const Row*> by_name;    // the same target operator and slot
  std::vector<const Row*> by_tensor;  // also those that only share the golden tensor

  Pairs(const Run& before, const Run& now) : by_name(before.rows.all().size()) {
    Parts parts;
    parts.note(before);
    parts.note(now);
    std::map<Key, std::vector<const Row*>> waiting;  // last first
    for (auto row = now.rows.all().rbegin(); row != now.rows.all().rend(); ++row)
      if (row->target) waiting[parts.key(*row, *row->target, "")].push_back(&*row);
    for (size_t i = 0; i < before.rows.all().size(); ++i) {
      const Row& row = before.rows.all()[i];
      if (!row.target) continue;
      const auto found = waiting.find(parts.key(row, *row.target, ""));
      if (found == waiting.end() || found->second.empty()) continue;
      by_name[i] = found->second.back();
      found->second.pop_back();
    }

    by_tensor = by_name;
    const auto golden_key = [&](const Row& row) {
      return parts.key(row, *row.golden, kind_of(row.target->slot));
    };
    std::map<Key, std::vector<const Row*>> renamed;
    for (const auto& [key, rows] : waiting)
      for (const Row* row : rows)
        if (row->golden) renamed[golden_key(*row)].push_back(row);
    for (size_t i = 0; i < before.rows.all().size(); ++i) {
      const Row& row = before.rows.all()[i];
      if (by_tensor[i] != nullptr || !row.target || !row.golden) continue;
      const auto found = renamed.find(golden_key(row));
      if (found == renamed.end() || found->second.size() != 1) continue;  // none, or anyone's guess
      by_tensor[i] = found->second.back();
      found->second.clear();
    }
  }
};

// ------------------------------------------------------------ better or worse

Standing standing_of(const Run& run, const Row& row) {
  const auto number = [&](std::string_view metric) -> std::optional<double> {
    const metrics::Value value = run.value(row, metric);
    if (!value.is_defined() || std::isnan(value.number())) return std::nullopt;
    return value.number();
  };
  return {row.verdict, number("cosine"), number("rel_euclid")};
}

int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return 0;
    case Verdict::kInconclusive: return 1;
    case Verdict::kFail: return 2;
    case Verdict::kNotCompared: break;
  }
  return 3;
}

// In what `after` is worse; empty if in nothing.
std::vector<std::string> worse_in(const Standing& before, const Standing& after) {
  std::vector<std::string> reasons;
  if (badness(after.verdict) > badness(before.verdict)) reasons.emplace_back("verdict");
  if (before.cosine && (!after.cosine || *before.cosine - *after.cosine > kMostCosineDrop))
    reasons.emplace_back("cosine");
  if (before.rel_euclid &&
      (!after.rel_euclid || (*after.rel_euclid > kMostRelEuclidFactor * *before.rel_euclid &&
                             *after.rel_euclid - *before.rel_euclid > kMostRelEuclidGrowth)))
    reasons.emplace_back("rel_euclid");
  return reasons;
}

// How far a tensor moved, to show the worst first: what has no number any more moved furthest.
double distance(const TensorChange& change) {
  constexpr double kFurthest = 1e300;
  if (!change.after || !change.after->cosine || !change.before.cosine) return kFurthest;
  const double moved = std::abs(*change.before.cosine - *change.after->cosine);
  return std::isfinite(moved) ? moved : kFurthest;
}

bool is_output_slot(std::string_view slot) { return slot.empty() || kind_of(slot) == "output"; }

bool tells_outputs(const Run& run) {
  if (!run.outputs_not_compared.empty()) return true;
  return std::any_of(run.rows.all().begin(), run.rows.all().end(),
                     [](const Row& row) { return row.is_model_output; });
}

void hold_tensors(const Run& before, const Run& now, const Pairs& pairs, Baseline& baseline) {
  const bool known = baseline.outputs_known;
  int64_t filtered = 0;
  for (size_t i = 0; i < before.rows.all().size(); ++i) {
    const Row& row = before.rows.all()[i];
    const Row* const partner = pairs.by_tensor[i];
    if (!row.target || row.verdict == Verdict::kNotCompared) continue;  // nothing to lose
    TensorChange change;
    change.is_output = known
                           ? row.is_model_output || (partner != nullptr && partner->is_model_output)
                           : is_output_slot(row.target->slot);
    if (partner != nullptr && partner->is_filtered()) {
      filtered += change.is_output;
      continue;
    }
    baseline.outputs_held += change.is_output;
    // What else is gone shows in the list of operators.
    if (partner == nullptr && !change.is_output) continue;

    change.before = standing_of(before, row);
    change.is_worse = true;
    if (partner == nullptr) {
      change.reasons = {"gone"};
    } else {
      change.after = standing_of(now, *partner);
      change.reasons = worse_in(change.before, *change.after);
      if (change.reasons.empty()) {
        change.is_worse = false;
        change.reasons = worse_in(*change.after, change.before);
      }
    }
    if (change.reasons.empty()) continue;
    const Row& shown = partner != nullptr ? *partner : row;
    change.operator_name = shown.target->operator_name;
    change.slot = shown.target->slot;
    change.graph = shown.graph;
    change.step = shown.step;
    change.rank = shown.rank;
    baseline.tensors.push_back(std::move(change));
  }
  std::stable_sort(baseline.tensors.begin(), baseline.tensors.end(),
                   [](const TensorChange& a, const TensorChange& b) {
                     return std::tuple(b.is_output, b.is_worse, distance(b)) <
                            std::tuple(a.is_output, a.is_worse, distance(a));
                   });
  if (filtered > 0)
    baseline.warnings.push_back(
        fmt::format("{} of the baseline's outputs {} filtered in this run and not held against it",
                    filtered, filtered == 1 ? "is" : "are"));
  if (baseline.outputs_held == 0)
    baseline.warnings.emplace_back(
        "no output that the baseline compared is left to hold against it");
}

// ------------------------------------------------------------ operators

// Target operators in order of execution, each once.
std::vector<std::string_view> operators_of(const Run& run) {
  std::vector<std::string_view> names;
  std::unordered_set<std::string_view> seen;
  for (const Row& row : run.rows.all())
    if (row.target && seen.insert(row.target->operator_name).second)
      names.push_back(row.target->operator_name);
  return names;
}

// The first type that is known, by target operator.
std::unordered_map<std::string_view, std::string_view> types_of(const Run& run) {
  std::unordered_map<std::string_view, std::string_view> types;
  for (const Row& row : run.rows.all())
    if (row.target)
      if (std::string_view& type = types[row.target->operator_name]; type.empty())
        type = row.target->type;
  return types;
}

// What changed about a tensor. What is not known on one side did not change.
// The layout is only known of a tensor that was read.
std::vector<std::string> differences(const Side& before, const Side& now, bool were_read) {
  std::vector<std::string> details;
  const auto add = [&](std::string_view what, std::string_view from, std::string_view to) {
    if (from != to)
      details.push_back(fmt::format("{} {} {} -> {}", now.slot, what, from.empty() ? "plain" : from,
                                    to.empty() ? "plain" : to));
  };
  if (before.dtype.empty() || now.dtype.empty()) return details;
  add("dtype", before.dtype, now.dtype);
  if (were_read) add("layout", before.layout, now.layout);
  if (before.shape && now.shape) add("shape", to_string(*before.shape), to_string(*now.shape));
  return details;
}

void list_operators(const Run& before, const Run& now, const Pairs& pairs, Baseline& baseline) {
  const auto types_before = types_of(before), types_now = types_of(now);
  const auto add = [&](std::string_view name, std::string_view type, Change change) {
    baseline.operators.push_back({std::string(name), std::string(type), change, {}});
  };
  // What the user filtered in this run says nothing.
  std::unordered_set<std::string_view> looked_at;
  for (const Row& row : now.rows.all())
    if (row.target && !row.is_filtered()) looked_at.insert(row.target->operator_name);
  for (const std::string_view name : operators_of(now))
    if (!types_before.contains(name) && looked_at.contains(name))
      add(name, types_now.at(name), Change::kNew);
  for (const std::string_view name : operators_of(before))
    if (!types_now.contains(name)) add(name, types_before.at(name), Change::kGone);

  // A tensor has a row for each step and rank; what changed is told once.
  std::unordered_map<std::string_view, std::vector<std::string>> details;
  std::set<std::pair<std::string_view, std::string>> told;
  const auto tell = [&](std::string_view name, std::string detail) {
    if (told.emplace(name, detail).second) details[name].push_back(std::move(detail));
  };
  std::unordered_set<const Row*> paired;
  for (size_t i = 0; i < before.rows.all().size(); ++i) {
    if (!before.rows.all()[i].target) continue;
    const Side& side = *before.rows.all()[i].target;
    const Row* const partner = pairs.by_name[i];
    if (partner != nullptr) {
      paired.insert(partner);
      if (partner->is_filtered() || before.rows.all()[i].is_filtered()) continue;
      const bool were_read = partner->verdict != Verdict::kNotCompared &&
                             before.rows.all()[i].verdict != Verdict::kNotCompared;
      for (std::string& detail : differences(side, *partner->target, were_read))
        tell(partner->target->operator_name, std::move(detail));
    } else if (const auto found = types_now.find(side.operator_name); found != types_now.end()) {
      tell(found->first, side.slot + " is gone");
    }
  }
  for (const Row& row : now.rows.all())
    if (row.target && !row.is_filtered() && !paired.contains(&row) &&
        types_before.contains(row.target->operator_name))
      tell(row.target->operator_name, row.target->slot + " is new");

  for (const std::string_view name : operators_of(now)) {
    const auto type_before = types_before.find(name);
    if (type_before == types_before.end() || !looked_at.contains(name)) continue;
    OperatorChange op{std::string(name), std::string(types_now.at(name)), Change::kChanged, {}};
    if (!type_before->second.empty() && !op.type.empty() && type_before->second != op.type)
      op.details.push_back(fmt::format("type {} -> {}", type_before->second, op.type));
    if (const auto found = details.find(name); found != details.end())
      op.details.insert(op.details.end(), found->second.begin(), found->second.end());
    if (!op.details.empty()) baseline.operators.push_back(std::move(op));
  }
}

// ------------------------------------------------------------ are they comparable at all

// "kl, pearson and 3 more": the metrics that only one of the runs has.
std::string only_in(const Run& run, const Run& other) {
  constexpr size_t kMostNames = 4;
  std::vector<std::string_view> names;
  for (const metrics::Metric* metric : run.metrics)
    if (std::find(other.metrics.begin(), other.metrics.end(), metric) == other.metrics.end())
      names.push_back(metric->name);
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

void warn(const Run& before, const Run& now, Baseline& baseline) {
  std::vector<std::string>& warnings = baseline.warnings;
  if (before.profile != now.profile)
    warnings.push_back(
        fmt::format("the baseline was judged by profile '{}', this run by '{}': verdicts may "
                    "differ for that alone",
                    before.profile, now.profile));
  if (before.scenario != now.scenario)
    warnings.push_back(
        fmt::format("the baseline is a comparison '{}', this run is '{}': numbers may differ for "
                    "that alone",
                    before.scenario, now.scenario));
  for (const auto& [names, whose] :
       {std::pair(only_in(before, now), "the baseline"), {only_in(now, before), "this run"}})
    if (!names.empty()) warnings.push_back(fmt::format("metrics only in {}: {}", whose, names));
  if (tells_outputs(before) != tells_outputs(now))
    warnings.push_back(fmt::format("only the graph of {} tells the model's outputs",
                                   tells_outputs(now) ? "this run" : "the baseline"));
  if (before.interrupted)
    warnings.emplace_back("the baseline was interrupted: what it did not reach is not tracked");
}

}  // namespace

Result<result::Saved> load_baseline(const std::filesystem::path& path) {
  auto saved = result::load_result(path);
  if (!saved) return saved;
  for (const std::string_view name : kTrackedMetrics) {
    const auto& metrics = saved->run.metrics;
    if (std::none_of(metrics.begin(), metrics.end(),
                     [&](const metrics::Metric* metric) { return metric->name == name; }))
      return Error{fmt::format("the baseline does not tell {}", name),
                   path.string() + ", run.metrics",
                   "make it anew without --checksum and with all default metrics: `plumb compare "
                   "TARGET GOLDEN --json FILE`"};
  }
  if (const result::Summary s = saved->run.summary(); s.rows == s.not_compared)
    return Error{
        "nothing was compared in the baseline",
        fmt::format("{}, rows: {}, not compared: {}", path.string(), s.rows, s.not_compared),
        "take a result in which tensors were compared as baseline"};
  return saved;
}

Baseline hold_against(const Run& now, const result::Saved& before, std::string path) {
  Baseline baseline;
  baseline.path = std::move(path);
  baseline.version = before.version;
  baseline.outputs_known = tells_outputs(before.run) || tells_outputs(now);
  warn(before.run, now, baseline);
  for (const std::string& note : before.notes) baseline.warnings.push_back("baseline: " + note);
  const Pairs pairs(before.run, now);
  hold_tensors(before.run, now, pairs, baseline);
  list_operators(before.run, now, pairs, baseline);
  return baseline;
}

}  // namespace plumb::judge
