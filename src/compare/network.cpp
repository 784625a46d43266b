// SPDX-License-Identifier: Apache-2.0
#include "compare/network.h"

namespace plumb::compare {

using result::Network;

NetworkOf::NetworkOf(const pair::Matcher& matcher) : matcher_(matcher) {
  const graph::Graph& graph = matcher.target();
  auto network = std::make_shared<Network>();
  std::unordered_map<std::string_view, int64_t> by_name;
  for (const graph::Operator& op : graph.operators) {
    const int64_t place = std::ssize(network->nodes);
    by_name.try_emplace(op.name, place);
    nodes_.emplace(&op, place);
    network->nodes.push_back(
        {op.name, op.type, op.origins.value_or(std::vector<std::string>()), false});
  }
  for (const graph::Operator& op : graph.operators)
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (const auto from = by_name.find(op.inputs[i].producer); from != by_name.end())
        network->edges.push_back(
            {from->second, op.inputs[i].output, nodes_.at(&op), static_cast<int64_t>(i)});
  for (const graph::Edge& output : graph.outputs)
    if (const auto from = by_name.find(output.producer); from != by_name.end())
      network->nodes[static_cast<size_t>(from->second)].is_output = true;
  network_ = std::move(network);
}

void NetworkOf::mark(result::Row& row) const {
  if (!row.target) return;
  const auto node = nodes_.find(matcher_.find(row.target->operator_name));
  row.node = node == nodes_.end() ? -1 : node->second;
}

}  // namespace plumb::compare
