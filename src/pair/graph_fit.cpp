// SPDX-License-Identifier: Apache-2.0
#include "pair/graph_fit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/counted.h"
#include "pair/damaged.h"
#include "pair/torchair.h"

namespace plumb::pair {
namespace {

using dump::DumpSet;
using dump::Entry;
using graph::Graph;
using graph::Operator;

constexpr std::string_view kOther = "the graph seems to be of another model or build";

// The first entry of an operator that quantizes; null if there is none.
const Entry* find_quantizing(const DumpSet& set) {
  Operator op;
  for (const Entry& entry : set.entries) {
    if (op.name == entry.operator_name && op.type == entry.type) continue;  // another of its slots
    op.name = entry.operator_name;
    op.type = entry.type;
    if (is_quant(op) || is_dequant(op)) return &entry;
  }
  return nullptr;
}

// Operators that the compiler may drop, because what they give is what they read.
bool may_run_without_a_kernel(const Operator& op) {
  constexpr std::array<std::string_view, 9> kTypes = {"Reshape",    "Flatten",         "FlattenV2",
                                                      "Squeeze",    "Unsqueeze",       "Identity",
                                                      "ExpandDims", "PartitionedCall", "Shape"};
  return std::find(kTypes.begin(), kTypes.end(), op.type) != kTypes.end();
}

bool is_dumped_kind(const Operator& op) {
  return !is_never_dumped(op) && !keeps_values(op.type) && !may_run_without_a_kernel(op);
}

// "a, b, c and 4 more"
template <class List>
std::string names_text(const List& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

std::string misfit_text(const GraphFit& fit) {
  std::string text = fmt::format("{} of {} of the dump {} not in it ({})", fit.unknown.size(),
                                 counted(static_cast<size_t>(fit.dumped), "operator"),
                                 fit.unknown.size() == 1 ? "is" : "are", names_text(fit.unknown));
  if (!fit.not_dumped.empty())
    text +=
        fmt::format(", {} of its {} {} not in the dump ({})", fit.not_dumped.size(), fit.described,
                    fit.not_dumped.size() == 1 ? "is" : "are", names_text(fit.not_dumped));
  return text;
}

// The first quantizing operator, for a message.
std::string_view quantizing_in(const Graph& graph) {
  for (const Operator& op : graph.operators)
    if (is_quant(op) || is_dequant(op)) return op.name;
  return {};
}
std::string_view quantizing_in(const DumpSet& set) {
  const Entry* found = find_quantizing(set);
  return found == nullptr ? std::string_view() : found->operator_name.str();
}

bool says_quantized(std::string_view mode) { return mode.starts_with("quantized"); }

// A dump of single layers need not have one that quantizes: then nothing it holds is unknown, and
// most of the graph is missing.
bool may_be_a_part(const GraphFit& fit) {
  return fit.unknown.empty() && fit.not_dumped.size() * 2 > fit.described;
}

}  // namespace

bool has_quantizing_operators(const DumpSet& set) { return find_quantizing(set) != nullptr; }

bool is_quantized(const DumpSet& set, const Graph* graph) {
  if (has_quantizing_operators(set)) return true;
  if (graph == nullptr || !is_quantized(*graph)) return false;
  Names names;
  for (const Operator& op : graph->operators) names.add(op.name);
  // Not uint8, which pictures have.
  return std::any_of(set.entries.begin(), set.entries.end(), [&](const Entry& entry) {
    return entry.info && (entry.info->dtype == DType::kInt8 || entry.info->dtype == DType::kInt4) &&
           !names.find(entry.operator_name).name.empty();
  });
}

GraphFit fit_of(const Graph& graph, const DumpSet& set) {
  Names names;
  for (const Operator& op : graph.operators) names.add(op.name);
  std::unordered_set<std::string_view> dumped;  // operators of the graph
  std::map<std::string_view, GraphFit> by_model;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Entry& entry : set.entries) {
    if (entry.is_beside) continue;
    const auto found = names.find(entry.operator_name);
    dumped.insert(found.name);
    if (keeps_values(entry.type) || !seen.emplace(entry.graph(), entry.operator_name).second)
      continue;
    GraphFit& fit = by_model[entry.graph()];
    ++fit.dumped;
    if (found.name.empty() && !found.several) fit.unknown.push_back(entry.operator_name);
  }
  // What cannot be read was dumped all the same.
  std::vector<std::string> damaged;
  for (const dump::Skipped& skipped : set.skipped)
    if (skipped.error) damaged.push_back(promise_of(skipped.file).op);
  for (const std::string& name : damaged) dumped.insert(names.find(name).name);

  const auto is_better = [](const auto& a, const auto& b) {
    return a.second.unknown.size() * b.second.dumped < b.second.unknown.size() * a.second.dumped;
  };
  const auto best = std::min_element(by_model.begin(), by_model.end(), is_better);
  GraphFit fit = best == by_model.end() ? GraphFit() : std::move(best->second);
  for (const Operator& op : graph.operators) {
    if (!is_dumped_kind(op)) continue;
    ++fit.described;
    if (!dumped.contains(op.name)) fit.not_dumped.push_back(op.name);
  }
  return fit;
}

std::vector<std::string> graph_doubts(const DumpSet& target, const DumpSet& golden,
                                      const Graphs& graphs, const GraphFiles& files,
                                      std::string_view mode) {
  std::vector<std::string> doubts;
  // A TorchAir dump has its own graphs; operators that GE fused need not be in another one.
  const bool has_own_graph = is_torchair(target, golden);
  const auto check = [&](std::string_view file, const Graph& graph, const DumpSet& set,
                         std::string_view side) {
    const GraphFit fit = fit_of(graph, set);
    if (has_own_graph ? fit.dumped > 0 && fit.unknown.size() == fit.dumped : fit.is_poor()) {
      doubts.push_back(fmt::format("{}: {}: {}", file, misfit_text(fit), kOther));
    } else if (has_own_graph) {
      return;
    } else if (is_quantized(graph) && !is_quantized(set, &graph)) {
      if (!may_be_a_part(fit) && !says_quantized(mode))
        doubts.push_back(fmt::format(
            "{}: it describes a quantized model ({}), but the {} dump has nothing quantized: {}",
            file, quantizing_in(graph), side, kOther));
    } else if (!is_quantized(graph) && has_quantizing_operators(set)) {
      doubts.push_back(fmt::format(
          "{}: the {} dump is of a quantized model ({}), which it does not describe: {}", file,
          side, quantizing_in(set), kOther));
    }
  };
  if (graphs.target) check(files.graph, *graphs.target, target, "target");
  if (graphs.golden) check(files.golden_graph, *graphs.golden, golden, "golden");
  // The compiler fused and renamed since the quantization tool wrote its file.
  if (graphs.quant && !has_own_graph && !says_quantized(mode) && is_quantized(*graphs.quant) &&
      !is_quantized(target, &*graphs.quant))
    doubts.push_back(fmt::format(
        "{}: it describes a quantized model ({}), but the target dump has nothing quantized: {}",
        files.quant, quantizing_in(*graphs.quant), kOther));
  return doubts;
}

std::vector<std::string> graph_notes(const DumpSet& target, const Graphs& graphs,
                                     std::string_view mode,
                                     const std::function<bool(const Entry&)>& wants) {
  std::vector<std::string> notes;
  // Only what the compiler wrote lists what was to be executed.
  if (!graphs.target || !is_converted(*graphs.target)) return notes;
  GraphFit fit = fit_of(*graphs.target, target);
  std::erase_if(fit.not_dumped, [&](std::string_view name) {
    Entry entry;
    entry.operator_name = name;
    return wants && !wants(entry);
  });
  if (!fit.not_dumped.empty())
    notes.push_back(
        fmt::format("{} of the graph {} not dumped: {}",
                    fit.not_dumped.size() == 1 ? "1 operator"
                                               : fmt::format("{} operators", fit.not_dumped.size()),
                    fit.not_dumped.size() == 1 ? "was" : "were", names_text(fit.not_dumped)));
  if (is_quantized(*graphs.target) && !says_quantized(mode) &&
      !is_quantized(target, &*graphs.target))
    notes.emplace_back(
        "the graph is of a quantized model, nothing that was dumped is quantized: judged as a "
        "model that is not, unless --mode says otherwise");
  return notes;
}

}  // namespace plumb::pair
