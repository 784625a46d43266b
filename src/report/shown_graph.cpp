// SPDX-License-Identifier: Apache-2.0
#include "report/shown_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Verdict;

constexpr size_t kMostStumps = 500;
constexpr size_t kMostGroupings = 3, kDeepest = 8;

int badness(const Row& row) {
  switch (row.verdict) {
    case Verdict::kPass: return row.suspicious ? 2 : 1;
    case Verdict::kFail: return 5;
    case Verdict::kInconclusive: return 4;
    case Verdict::kNotCompared: break;
  }
  return row.is_excused() ? 0 : 3;
}

// "a/b/c" of depth 2 is "a/b"; the whole name if it is not longer.
std::string_view prefix_of(std::string_view name, int depth) {
  size_t end = 0;
  for (; depth > 0; --depth) {
    end = name.find_first_of("/.", end + 1);
    if (end == name.npos) return name;
  }
  return name.substr(0, end);
}

class Whole {
 public:
  Whole(const Run& run, const Roles& roles, ShownGraphs& all) : run_(run), all_(all) {
    ShownGraph& graph = all.graphs.emplace_back();
    graph.label = "operators";
    for (const result::NetworkNode& node : run.network->nodes) {
      ShownNode& shown = graph.nodes.emplace_back();
      shown.name = node.name;
      shown.type = node.type;
      shown.origins = fmt::format("{}", fmt::join(node.origins, ", "));
      shown.is_output = node.is_output;
      shown.role = roles.of(node.name);
    }
    add_rows(graph);
    add_stumps(graph);
    add_edges(graph);
    for (int32_t i = 0; i < std::ssize(graph.nodes); ++i) {
      graph.nodes[static_cast<size_t>(i)].first = i;
      graph.place_of.push_back(i);
    }
  }

 private:
  void add_rows(ShownGraph& graph) {
    all_.node_of.assign(run_.rows.all().size(), -1);
    for (size_t i = 0; i < run_.rows.all().size(); ++i) {
      const Row& row = run_.rows.all()[i];
      if (row.node < 0 || row.node >= std::ssize(graph.nodes)) continue;
      all_.node_of[i] = static_cast<int32_t>(row.node);
      ShownNode& node = graph.nodes[static_cast<size_t>(row.node)];
      if (node.row >= 0 && !is_worse(run_, row, run_.rows.all()[static_cast<size_t>(node.row)]))
        continue;
      node.row = static_cast<int32_t>(i);
      node.verdict =
          row.is_excused() ? ShownNode::kNothingKnown : static_cast<uint8_t>(row.verdict);
    }
  }

  // Beside the operator whose row comes before theirs.
  void add_stumps(ShownGraph& graph) {
    std::map<std::string_view, int32_t> stumps;
    int32_t before = -1;
    size_t left_out = 0;
    const size_t nodes = graph.nodes.size();
    for (size_t i = 0; i < run_.rows.all().size(); ++i) {
      const Row& row = run_.rows.all()[i];
      if (all_.node_of[i] >= 0) before = all_.node_of[i];
      if (row.target || row.is_excused() || row.verdict != Verdict::kNotCompared) continue;
      const auto [found, is_new] = stumps.try_emplace(row.golden->operator_name, -1);
      if (is_new && graph.nodes.size() - nodes >= kMostStumps) ++left_out;
      if (is_new && graph.nodes.size() - nodes < kMostStumps) {
        found->second = static_cast<int32_t>(graph.nodes.size());
        ShownNode& stump = graph.nodes.emplace_back();
        stump.name = row.golden->operator_name;
        stump.type = row.golden->type;
        stump.kind = ShownNode::kStump;
        stump.row = static_cast<int32_t>(i);
        stump.verdict = static_cast<uint8_t>(row.verdict);
        stump.beside = before;
      }
      all_.node_of[i] = found->second;
    }
    if (left_out > 0)
      all_.note = fmt::format(
          "The graph shows {} golden operators without a partner; {} more are in the table only.",
          kMostStumps, left_out);
  }

  // The error of an edge is that of the tensor behind it, by whoever dumped it.
  void add_edges(ShownGraph& graph) {
    using Slot = std::pair<int64_t, std::string_view>;
    std::map<Slot, double> errors;
    for (const Row& row : run_.rows.all()) {
      const double error = relative_error(run_, row);
      if (row.node < 0 || !row.target || std::isnan(error)) continue;
      double& most = errors.try_emplace({row.node, row.target->slot}, error).first->second;
      most = std::max(most, error);
    }
    std::map<std::pair<int32_t, int32_t>, size_t> places;
    for (const result::NetworkEdge& edge : run_.network->edges) {
      const std::string from = fmt::format("output:{}", edge.output);
      const std::string to = fmt::format("input:{}", edge.input);
      auto found = errors.find({edge.from, from});
      if (found == errors.end()) found = errors.find({edge.to, to});
      const double error = found == errors.end() ? kUnknownNumber : found->second;
      const ShownEdge shown{static_cast<int32_t>(edge.from), static_cast<int32_t>(edge.to), error};
      const auto [place, is_new] = places.try_emplace({shown.from, shown.to}, graph.edges.size());
      if (is_new)
        graph.edges.push_back(shown);
      else if (double& known = graph.edges[place->second].error; !(known >= error))
        known = std::isnan(error) ? known : error;
    }
  }

  const Run& run_;
  ShownGraphs& all_;
};

// Operators of a common prefix as one node.
ShownGraph grouped(const Run& run, const ShownGraph& whole, int depth) {
  ShownGraph graph;
  graph.label =
      fmt::format("groups by the first {}", depth == 1 ? "name" : fmt::format("{} names", depth));
  graph.depth = depth;
  std::map<std::pair<std::string_view, bool>, int32_t> groups;  // stumps stay apart
  for (const ShownNode& node : whole.nodes) {
    const bool is_stump = node.kind == ShownNode::kStump;
    const std::string_view prefix = prefix_of(node.name, depth);
    const auto [found, is_new] =
        groups.try_emplace({prefix, is_stump}, static_cast<int32_t>(graph.nodes.size()));
    graph.place_of.push_back(found->second);
    if (is_new) {
      graph.nodes.push_back(node);
      int32_t& beside = graph.nodes.back().beside;
      if (beside >= 0) beside = graph.place_of[static_cast<size_t>(beside)];
      continue;
    }
    ShownNode& group = graph.nodes[static_cast<size_t>(found->second)];
    if (group.count++ == 1) {
      group.name = prefix;
      group.type.clear();
      group.origins.clear();
      if (!is_stump) group.kind = ShownNode::kGroup;
    }
    group.is_output |= node.is_output;
    if (node.role == 1 || group.role == 0) group.role = node.role;
    const auto row = [&](int32_t place) -> const Row& {
      return run.rows.all()[static_cast<size_t>(place)];
    };
    if (node.row < 0 || (group.row >= 0 && !is_worse(run, row(node.row), row(group.row)))) continue;
    group.row = node.row;
    group.verdict = node.verdict;
  }
  std::map<std::pair<int32_t, int32_t>, size_t> places;
  for (const ShownEdge& edge : whole.edges) {
    const int32_t from = graph.place_of[static_cast<size_t>(edge.from)];
    const int32_t to = graph.place_of[static_cast<size_t>(edge.to)];
    if (from == to) continue;
    const auto [place, is_new] = places.try_emplace({from, to}, graph.edges.size());
    if (is_new)
      graph.edges.push_back({from, to, edge.error});
    else if (double& known = graph.edges[place->second].error; !(known >= edge.error))
      known = std::isnan(edge.error) ? known : edge.error;
  }
  return graph;
}

}  // namespace

double relative_error(const Run& run, const Row& row) {
  const metrics::Value value = run.value(row, "rel_euclid");
  if (value.is_defined() && !std::isnan(value.number())) return value.number();
  return row.verdict == Verdict::kFail && !row.values.empty()
             ? std::numeric_limits<double>::infinity()
             : kUnknownNumber;
}

bool is_output_slot(const Row& row) {
  return row.target && (row.target->slot.empty() || row.target->slot.starts_with("output"));
}

bool is_worse(const Run& run, const Row& row, const Row& before) {
  if (is_output_slot(row) != is_output_slot(before)) return is_output_slot(row);
  if (badness(row) != badness(before)) return badness(row) > badness(before);
  return relative_error(run, row) > relative_error(run, before);
}

graph::DrawingSpec ShownGraph::spec() const {
  graph::DrawingSpec spec;
  spec.nodes = static_cast<int32_t>(nodes.size());
  for (const ShownEdge& edge : edges) spec.edges.push_back({edge.from, edge.to});
  for (const ShownNode& node : nodes) spec.beside.push_back(node.beside);
  return spec;
}

ShownGraphs shown_graphs(const Run& run, const Roles& roles) {
  ShownGraphs all;
  if (!run.network || run.network->nodes.empty()) {
    all.node_of.assign(run.rows.all().size(), -1);
    return all;
  }
  Whole(run, roles, all);
  size_t before = all.graphs.front().nodes.size();
  std::vector<ShownGraph> groupings;
  for (int depth = static_cast<int>(kDeepest); depth >= 1; --depth) {
    ShownGraph graph = grouped(run, all.graphs.front(), depth);
    if (graph.nodes.size() < 2 || 3 * graph.nodes.size() > 2 * before) continue;
    before = graph.nodes.size();
    groupings.push_back(std::move(graph));
  }
  // The coarsest are the most telling.
  if (groupings.size() > kMostGroupings)
    groupings.erase(groupings.begin(), groupings.end() - kMostGroupings);
  std::move(groupings.begin(), groupings.end(), std::back_inserter(all.graphs));
  return all;
}

}  // namespace plumb::report
