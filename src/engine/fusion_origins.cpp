// SPDX-License-Identifier: Apache-2.0
#include "engine/fusion_origins.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

namespace plumb::engine {
namespace {

struct Producer {
  const graph::Operator* op = nullptr;
  int64_t output = 0;
};

}  // namespace

graph::Graph with_tensor_origins(graph::Graph optimised, const graph::Graph& original) {
  std::unordered_map<std::string_view, Producer> producers;  // of the original, by tensor
  for (const graph::Operator& op : original.operators)
    for (size_t k = 0; k < op.outputs.size(); ++k)
      if (op.subgraph.empty() && !op.outputs[k].name.empty())
        producers.try_emplace(op.outputs[k].name, Producer{&op, static_cast<int64_t>(k)});
  const auto by_name = original.by_name();
  std::unordered_set<std::string> survivors;  // tensors of the optimised graph
  for (const graph::Operator& op : optimised.operators)
    for (const graph::Output& output : op.outputs) survivors.insert(output.name);

  for (graph::Operator& op : optimised.operators) {
    if (!op.subgraph.empty()) continue;
    op.origins.emplace();
    std::vector<const graph::Operator*> pending;
    std::set<const graph::Operator*> made_from;  // in the order of the original
    for (graph::Output& output : op.outputs) {
      const auto found = producers.find(output.name);
      if (found == producers.end()) continue;
      output.origin = found->second.op->name;
      output.origin_output = found->second.output;
      if (made_from.insert(found->second.op).second) pending.push_back(found->second.op);
    }
    while (!pending.empty()) {
      const graph::Operator* member = pending.back();
      pending.pop_back();
      for (const graph::Edge& edge : member->inputs) {
        const auto producer = by_name.find(edge.producer);
        if (producer == by_name.end() || edge.output < 0 ||
            edge.output >= std::ssize(producer->second->outputs))
          continue;
        const std::string& tensor =
            producer->second->outputs[static_cast<size_t>(edge.output)].name;
        if (survivors.contains(tensor)) continue;
        if (made_from.insert(producer->second).second) pending.push_back(producer->second);
      }
    }
    for (const graph::Operator* member : made_from) op.origins->push_back(member->name);
  }
  return optimised;
}

}  // namespace plumb::engine
