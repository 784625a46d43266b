// SPDX-License-Identifier: Apache-2.0
#include "compare/network.h"

#include "compare/torchair_network.h"

namespace plumb::compare {

using result::Network;

NetworkOf::NetworkOf(const SessionState& state) : state_(state) {
  if (state.matcher) {
    add_graph(state.matcher->target());
    return;
  }
  if (!state.torchair || state.torchair->models.by_rank.empty()) return;
  TorchairNetwork made =
      torchair_network(state.target, *state.torchair, state.golden.traits.is_torchair_fx);
  network_ = std::move(made.network);
  by_entry_ = std::move(made.nodes);
}

void NetworkOf::add_graph(const graph::Graph& graph) {
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

void NetworkOf::mark(RowId id, result::Row& row) const {
  if (!network_ || !row.target) return;
  if (!by_entry_.empty()) {
    const dump::Entry* const entry = state_.rows[static_cast<size_t>(id)].target;
    row.node = by_entry_[static_cast<size_t>(entry - state_.target.entries.data())];
    return;
  }
  const auto node = nodes_.find(state_.matcher->find(row.target->operator_name));
  row.node = node == nodes_.end() ? -1 : node->second;
}

}  // namespace plumb::compare
