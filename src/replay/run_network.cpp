// SPDX-License-Identifier: Apache-2.0
#include "replay/run_network.h"

#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "input/samples.h"

namespace plumb::replay {

RunNetwork::RunNetwork(const engine::Dump& given, bool by_tensor) {
  auto network = std::make_shared<result::Network>();
  using Place = std::pair<int64_t, int64_t>;                 // a node and which of its outputs
  std::map<std::pair<std::string, int64_t>, Place> made_by;  // by operator and output
  const auto add_node = [&](std::string name, const graph::Operator& op) {
    const int64_t node = std::ssize(network->nodes);
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (const auto from = made_by.find({op.inputs[i].producer, op.inputs[i].output});
          from != made_by.end())
        network->edges.push_back(
            {from->second.first, from->second.second, node, static_cast<int64_t>(i)});
    nodes_.try_emplace(name, node);
    network->nodes.push_back({std::move(name), op.type, {}, false});
    return node;
  };
  auto tensor = given.tensors.begin();
  for (const graph::Operator& op : given.graph->operators) {
    std::vector<Place> places;
    for (int64_t output = 0; output < std::ssize(op.outputs); ++output, ++tensor)
      if (by_tensor)
        places.emplace_back(add_node(input::file_name_of(tensor->tensor), op), 0);
      else
        places.emplace_back(output == 0 ? add_node(op.name, op) : places.front().first, output);
    for (size_t i = 0; i < places.size(); ++i)
      made_by.try_emplace({op.name, static_cast<int64_t>(i)}, places[i]);
  }
  for (const graph::Edge& output : given.graph->outputs)
    if (const auto place = made_by.find({output.producer, output.output}); place != made_by.end())
      network->nodes[static_cast<size_t>(place->second.first)].is_output = true;
  network_ = std::move(network);
}

void RunNetwork::mark(result::Row& row) const {
  if (!row.target) return;
  const auto node = nodes_.find(row.target->operator_name);
  row.node = node == nodes_.end() ? -1 : node->second;
  if (row.node >= 0 && row.golden && network_->nodes[static_cast<size_t>(row.node)].is_output)
    row.is_model_output = true;
}

}  // namespace plumb::replay
