// SPDX-License-Identifier: Apache-2.0
#include "graph/diff_turned.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace plumb::graph {
namespace {

bool is_transposition(const Operator& op) { return op.type == "Transpose" || op.type == "Permute"; }

// Names of operators that are behind some, themselves among them.
std::set<std::string_view> behind(const Graph& graph, std::set<std::string_view> names) {
  std::unordered_map<std::string_view, std::vector<std::string_view>> readers;
  for (const Operator& op : graph.operators)
    for (const Edge& edge : op.inputs) readers[edge.producer].push_back(op.name);
  std::vector<std::string_view> open(names.begin(), names.end());
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    for (const std::string_view reader : readers[name])
      if (names.insert(reader).second) open.push_back(reader);
  }
  return names;
}

bool is_about_axes(const Difference& each) {
  if (each.kind == DiffKind::kAttribute)
    return each.what == "axis" || each.what == "axes" || each.what == "perm" ||
           each.what == "shape";
  if (each.kind == DiffKind::kMissing || each.kind == DiffKind::kAdded)
    return each.detail.ends_with(":Transpose") || each.detail.ends_with(":Permute");
  return each.kind == DiffKind::kWiring || each.detail.starts_with("axes:");
}

}  // namespace

void excuse_turned(const ModelContent& target, const ModelContent& golden,
                   const ModelAlignment& alignment, std::vector<Difference>& differences) {
  // Transpositions that are not where they were, or not what they were.
  std::set<std::string_view> own, theirs;
  for (size_t i = 0; i < target.operators.size(); ++i) {
    const Operator& op = target.graph.operators[i];
    if (!is_transposition(op)) continue;
    const int other = alignment.golden_of[i];
    if (other < 0) {
      own.insert(op.name);
    } else if (target.operators[i].attributes !=
               golden.operators[static_cast<size_t>(other)].attributes) {
      own.insert(op.name);
      theirs.insert(golden.graph.operators[static_cast<size_t>(other)].name);
    }
  }
  for (size_t i = 0; i < golden.operators.size(); ++i)
    if (is_transposition(golden.graph.operators[i]) && alignment.target_of[i] < 0)
      theirs.insert(golden.graph.operators[i].name);
  // ... or that one of two operators is read past.
  const auto own_names = target.graph.by_name(), golden_names = golden.graph.by_name();
  const auto reads_one = [](const auto& by_name, const Operator& op) {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Edge& edge) {
      const auto producer = by_name.find(edge.producer);
      return producer != by_name.end() && is_transposition(*producer->second);
    });
  };
  for (const ModelAlignment::Rewired& rewired : alignment.rewired) {
    const Operator& one = target.graph.operators[static_cast<size_t>(rewired.target)];
    const Operator& other = golden.graph.operators[static_cast<size_t>(rewired.golden)];
    if (reads_one(own_names, one) == reads_one(golden_names, other)) continue;
    own.insert(one.name);
    theirs.insert(other.name);
  }
  // One alone was changed, not moved.
  if (own.empty() || theirs.empty() || own.size() + theirs.size() < 3) return;
  own = behind(target.graph, std::move(own));
  theirs = behind(golden.graph, std::move(theirs));
  for (Difference& each : differences)
    if (each.grade == DiffGrade::kDifferent && is_about_axes(each) &&
        (own.contains(each.target) || theirs.contains(each.golden)))
      each.grade = DiffGrade::kUnverified;
}

}  // namespace plumb::graph
