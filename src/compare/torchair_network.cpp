// SPDX-License-Identifier: Apache-2.0
#include "compare/torchair_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace plumb::compare {
namespace {

using graph::Operator;
using pair::TorchairModel;
using result::Network;

// The network of one graph, which models of several ranks describe.
class TorchairGraph {
 public:
  TorchairGraph(Network& network, bool is_fx) : network_(network), is_fx_(is_fx) {}

  // The node of an operator of the dump; -1 if the model does not have it.
  int64_t add_dumped(const TorchairModel& model, const dump::Entry& entry) {
    const auto known = dumped_.find(entry.operator_name);
    if (known != dumped_.end()) return known->second;
    std::vector<const Operator*> members = members_of(model, entry.operator_name);
    if (members.empty()) return dumped_.emplace(entry.operator_name, -1).first->second;
    const Operator& last = *members.back();
    // What another operator of the dump took is not taken from it.
    std::erase_if(members, [&](const Operator* op) { return nodes_.contains(op->name); });
    if (members.empty())
      return dumped_.emplace(entry.operator_name, nodes_.at(last.name)).first->second;
    result::NetworkNode node{entry.operator_name, entry.type, {}, false};
    if (members.size() > 1)
      for (const Operator* op : members) node.origins.push_back(name_of(*op));
    else if (last.origins)
      node.origins = *last.origins;
    return dumped_.emplace(entry.operator_name, add_node(std::move(node), std::move(members)))
        .first->second;
  }

  // Those that were not dumped.
  void add_rest(const TorchairModel& model) {
    if (model.first() == nullptr) return;
    for (const Operator& op : model.first()->operators)
      if (!nodes_.contains(op.name))
        add_node({op.name, op.type, op.origins.value_or(std::vector<std::string>()), false}, {&op});
    for (const graph::Edge& output : model.first()->outputs)
      if (const auto from = nodes_.find(output.producer); from != nodes_.end())
        network_.nodes[static_cast<size_t>(from->second)].is_output = true;
  }

  void add_edges() {
    for (const auto& [node, members] : members_) {
      // Inputs of a fused operator are those of its members that come from outside, in turn.
      int64_t input = 0;
      for (const Operator* op : members)
        for (const graph::Edge& edge : op->inputs) {
          const auto from = nodes_.find(edge.producer);
          const bool is_inside = from != nodes_.end() && from->second == node;
          if (from != nodes_.end() && !is_inside)
            network_.edges.push_back({from->second, output_of(from->second, edge), node, input});
          input += !is_inside;
        }
    }
  }

 private:
  // In golden.
  std::string name_of(const Operator& op) const {
    for (const graph::Output& output : op.outputs)
      if (const auto fx = pair::fx_tensor(output.name); fx && is_fx_) return std::string(fx->first);
    return op.name;
  }

  static const Operator* find(const TorchairModel& model, std::string_view name) {
    const Operator* const op = model.find(name);
    return op != nullptr ? op : model.made(name);
  }

  static std::vector<const Operator*> members_of(const TorchairModel& model,
                                                 std::string_view name) {
    if (const Operator* const op = model.find(name)) return {op};
    std::vector<const Operator*> members;
    for (const std::string_view each : model.members_of(name).names)
      if (const Operator* const op = find(model, each)) members.push_back(op);
    if (const Operator* const made = model.made(name); made != nullptr && members.empty())
      members.push_back(made);
    return members;
  }

  int64_t add_node(result::NetworkNode node, std::vector<const Operator*> members) {
    const int64_t place = std::ssize(network_.nodes);
    for (const Operator* op : members) nodes_.emplace(op->name, place);
    network_.nodes.push_back(std::move(node));
    members_.emplace(place, std::move(members));
    return place;
  }

  // A fused operator gives out what its last member does; what others hand to operators outside
  // comes behind that.
  int64_t output_of(int64_t node, const graph::Edge& edge) const {
    const std::vector<const Operator*>& members = members_.at(node);
    const auto giver = std::find_if(members.rbegin(), members.rend(),
                                    [&](const Operator* op) { return op->name == edge.producer; });
    int64_t before = 0;
    for (auto op = members.rbegin(); op != giver; ++op)
      before += std::max<int64_t>(1, std::ssize((*op)->outputs));
    return before + edge.output;
  }

  Network& network_;
  const bool is_fx_;
  std::unordered_map<std::string_view, int64_t> nodes_;   // by operator of the model
  std::unordered_map<std::string_view, int64_t> dumped_;  // by operator of the dump
  std::map<int64_t, std::vector<const Operator*>> members_;
};

}  // namespace

TorchairNetwork torchair_network(const dump::DumpSet& target, const pair::Torchair& torchair,
                                 bool golden_is_fx) {
  auto network = std::make_shared<Network>();
  std::map<int64_t, TorchairGraph> graphs;
  TorchairNetwork made;
  const auto graph_of = [&](int64_t id) -> TorchairGraph& {
    return graphs.try_emplace(id, *network, golden_is_fx).first->second;
  };
  std::set<pair::Rank> ranks;
  for (size_t i = 0; i < target.entries.size(); ++i) {
    const dump::Entry& entry = target.entries[i];
    made.nodes.push_back(-1);
    const auto& id = torchair.places[i].graph;
    if (!id) continue;
    ranks.insert(entry.rank());
    const auto& models = torchair.models.of(entry.rank());
    if (const auto model = models.find(*id); model != models.end())
      made.nodes[i] = graph_of(*id).add_dumped(model->second, entry);
  }
  for (const pair::Rank& rank : ranks)
    for (const auto& [id, model] : torchair.models.of(rank)) graph_of(id).add_rest(model);
  for (auto& [id, graph] : graphs) graph.add_edges();
  std::sort(network->edges.begin(), network->edges.end(),
            [](const result::NetworkEdge& a, const result::NetworkEdge& b) {
              return std::tuple(a.to, a.input) < std::tuple(b.to, b.input);
            });
  made.network = std::move(network);
  return made;
}

}  // namespace plumb::compare
