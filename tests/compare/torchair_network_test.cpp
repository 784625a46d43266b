// SPDX-License-Identifier: Apache-2.0
#include "compare/torchair_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

using testing::ElementsAre;

graph::Operator made_operator(std::string name, std::string type, std::vector<graph::Edge> inputs) {
  graph::Operator op;
  op.name = std::move(name);
  op.type = std::move(type);
  op.inputs = std::move(inputs);
  op.outputs.emplace_back().name = "fx_" + op.name + "-aten.op.OUTPUT.0";
  return op;
}

dump::Entry made_entry(std::string name, std::string type, int64_t rank) {
  dump::Entry entry;
  entry.operator_name = std::move(name);
  entry.type = std::move(type);
  entry.put_at({{}, rank});
  return entry;
}

std::vector<std::string> texts_of(const result::Network& network) {
  std::vector<std::string> texts;
  for (const result::NetworkNode& node : network.nodes) {
    std::string text = node.name + (node.is_output ? "!" : "");
    for (const std::string& origin : node.origins) text += " " + origin;
    texts.push_back(std::move(text));
  }
  for (const result::NetworkEdge& edge : network.edges)
    texts.push_back(
        network.nodes[static_cast<size_t>(edge.from)].name + ":" + std::to_string(edge.output) +
        ">" + network.nodes[static_cast<size_t>(edge.to)].name + ":" + std::to_string(edge.input));
  return texts;
}

// The graph text has convolution and activation apart, the dump has them as one; it lacks Mul_4,
// and has a conversion that the text does not know.
TEST(TorchairNetwork, OperatorsAreAsTheyWereDumped) {
  pair::Torchair torchair;
  torchair.models.graphs.resize(1);
  graph::Graph& graph = torchair.models.graphs[0];
  graph.operators = {made_operator("x", "Data", {}),
                     made_operator("Conv_1", "Conv2D", {{"x", 0}, {"w", 0}}),
                     made_operator("Relu_2", "Relu", {{"Conv_1", 0}}),
                     made_operator("Add_3", "Add", {{"Conv_1", 0}, {"Relu_2", 0}}),
                     made_operator("Mul_4", "Mul", {{"x", 0}, {"Add_3", 0}})};
  graph.outputs = {{"Mul_4", 0}};
  torchair.models.by_rank[0][1].add(graph);
  torchair.models.by_rank[1][1].add(graph);
  dump::DumpSet target;
  target.entries = {made_entry("Conv_1Relu_2", "FusedOp", 0), made_entry("Add_3", "Add", 0),
                    made_entry("trans_Cast", "Cast", 0), made_entry("Add_3", "Add", 1)};
  torchair.places.assign(4, {1, 0, true});

  const TorchairNetwork made = torchair_network(target, torchair, false);
  EXPECT_THAT(made.nodes, ElementsAre(0, 1, -1, 1));
  EXPECT_THAT(texts_of(*made.network),
              ElementsAre("Conv_1Relu_2 Conv_1 Relu_2", "Add_3", "x", "Mul_4!",
                          "x:0>Conv_1Relu_2:0", "Conv_1Relu_2:1>Add_3:0", "Conv_1Relu_2:0>Add_3:1",
                          "x:0>Mul_4:0", "Add_3:0>Mul_4:1"));
  const TorchairNetwork of_fx = torchair_network(target, torchair, true);
  EXPECT_THAT(of_fx.network->nodes[0].origins,
              ElementsAre("fx_Conv_1-aten.op", "fx_Relu_2-aten.op"));
}

// Operators of two graphs may have one name.
TEST(TorchairNetwork, EachGraphHasItsOwnNodes) {
  pair::Torchair torchair;
  torchair.models.graphs.resize(2);
  for (int64_t id : {1, 2}) {
    graph::Graph& graph = torchair.models.graphs[static_cast<size_t>(id) - 1];
    graph.operators = {made_operator("Add", "Add", {}), made_operator("Mul", "Mul", {{"Add", 0}})};
    torchair.models.by_rank[0][id].add(graph);
  }
  dump::DumpSet target;
  target.entries = {made_entry("Add", "Add", 0), made_entry("Add", "Add", 0)};
  torchair.places = {{1, 0, true}, {2, 0, true}};
  const TorchairNetwork made = torchair_network(target, torchair, true);
  EXPECT_THAT(made.nodes, ElementsAre(0, 1));
  EXPECT_EQ(made.network->nodes.size(), 4U);
  EXPECT_EQ(made.network->edges.size(), 2U);
}

}  // namespace
}  // namespace plumb::compare
