// SPDX-License-Identifier: Apache-2.0
#include "graph/scores.h"

#include <algorithm>
#include <array>
#include <span>

namespace plumb::graph {
namespace {

constexpr std::array<std::string_view, 3> kGivesShares{"Softmax", "LogSoftmax", "Sigmoid"};
constexpr std::array<std::string_view, 2> kRounds{"QuantizeLinear", "DequantizeLinear"};
constexpr std::array<std::string_view, 4> kHandsOn{"Reshape", "Flatten", "Squeeze", "Identity"};

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

std::optional<Edge> scores_behind(const Graph& graph, const Edge& output) {
  const auto by_name = graph.by_name();
  Edge edge = output;
  for (size_t steps = 0; steps < graph.operators.size(); ++steps) {
    const auto found = by_name.find(edge.producer);
    if (found == by_name.end() || found->second->inputs.empty()) return std::nullopt;
    const Operator& op = *found->second;
    edge = op.inputs[0];
    if (is_one_of(op.type, kRounds) || is_one_of(op.type, kHandsOn)) continue;
    const auto producer = by_name.find(edge.producer);
    const bool is_computed = producer != by_name.end() && !producer->second->inputs.empty();
    return is_one_of(op.type, kGivesShares) && is_computed ? std::optional(edge) : std::nullopt;
  }
  return std::nullopt;
}

Edge before_rounding(const Graph& graph, const Edge& edge) {
  const auto by_name = graph.by_name();
  Edge made = edge;
  for (size_t steps = 0; steps < graph.operators.size(); ++steps) {
    const auto found = by_name.find(made.producer);
    if (found == by_name.end() || found->second->inputs.empty() ||
        !is_one_of(found->second->type, kRounds))
      break;
    made = found->second->inputs[0];
  }
  return made;
}

}  // namespace plumb::graph
