// SPDX-License-Identifier: Apache-2.0
#include "pair/graph_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

using dump::DumpSet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Named {
  std::string name, type;
};

DumpSet device_set_of(const std::vector<Named>& operators) {
  DumpSet set;
  set.traits.is_device = true;
  for (const Named& op : operators) {
    dump::Entry& entry = set.entries.emplace_back();
    entry.operator_name = op.name;
    entry.type = op.type;
  }
  return set;
}

graph::Graph recorded_graph_of(const std::vector<Named>& operators) {
  graph::Graph graph;
  for (const Named& op : operators) {
    graph::Operator& made = graph.operators.emplace_back();
    made.name = op.name;
    made.type = op.type;
    made.origins = {op.name};
  }
  return graph;
}

// The same layers as converted with fusion, without, and quantized.
const std::vector<Named> kFused = {
    {"data", "Data"},    {"trans_0", "TransData"}, {"net/conv1relu1", "Conv2D"},
    {"pool", "Pooling"}, {"flat", "Reshape"},      {"prob", "SoftmaxV2"}};
const std::vector<Named> kUnfused = {{"data", "Data"},    {"trans_0", "TransData"},
                                     {"conv1", "Conv2D"}, {"relu1", "Relu"},
                                     {"pool", "Pooling"}, {"prob", "SoftmaxV2"}};
const std::vector<Named> kQuantized = {
    {"data", "Data"},  {"quant", "AscendQuant"}, {"conv1", "Conv2D"},  {"dequant", "AscendDequant"},
    {"relu1", "Relu"}, {"pool", "Pooling"},      {"prob", "SoftmaxV2"}};
const std::vector<Named> kFusedDump = {{"trans_9", "TransData"},  // of another version
                                       {"net_conv1relu1", "Conv2D"},
                                       {"pool", "Pooling"},
                                       {"prob", "SoftmaxV2"}};
const std::vector<Named> kUnfusedDump = {
    {"conv1", "Conv2D"}, {"relu1", "Relu"}, {"pool", "Pooling"}, {"prob", "SoftmaxV2"}};
const std::vector<Named> kQuantizedDump(kQuantized.begin() + 1, kQuantized.end());

std::vector<std::string> doubts(const std::vector<Named>& dump, const std::vector<Named>& graph,
                                std::string_view mode = "") {
  Graphs graphs;
  graphs.target = recorded_graph_of(graph);
  return graph_doubts(device_set_of(dump), device_set_of({}), graphs, {"model.json", "", ""}, mode);
}

TEST(GraphFit, WhatIsInBothAndWhatIsNot) {
  const graph::Graph graph = recorded_graph_of(kUnfused);
  const GraphFit fit = fit_of(graph, device_set_of(kFusedDump));
  EXPECT_EQ(fit.dumped, 3u);
  EXPECT_THAT(fit.unknown, ElementsAre("net_conv1relu1"));
  EXPECT_EQ(fit.described, 4u);
  EXPECT_THAT(fit.not_dumped, ElementsAre("conv1", "relu1"));
  EXPECT_TRUE(fit.is_poor());
  EXPECT_FALSE(GraphFit().is_poor());  // nothing was dumped
}

TEST(GraphFit, ADumpOfSeveralModelsIsJudgedByTheBest) {
  DumpSet set = device_set_of(kFusedDump);
  for (const char* name : {"a", "b", "c", "d"}) {
    set.entries.emplace_back().operator_name = name;
    set.entries.back().put_at({{}, {}, "another model"});
  }
  EXPECT_THAT(fit_of(recorded_graph_of(kFused), set).unknown, IsEmpty());
}

TEST(GraphFit, ADamagedFileWasDumped) {
  DumpSet set = device_set_of({{"net_conv1relu1", "Conv2D"}, {"prob", "SoftmaxV2"}});
  set.skipped.push_back({"Pooling.pool.4.7.1767268800000004", "damaged", Error{"", "", ""}});
  EXPECT_THAT(fit_of(recorded_graph_of(kFused), set).not_dumped, IsEmpty());
}

TEST(GraphDoubts, Table) {
  EXPECT_THAT(doubts(kFusedDump, kFused), IsEmpty());
  EXPECT_THAT(doubts(kUnfusedDump, kUnfused), IsEmpty());
  EXPECT_THAT(doubts(kQuantizedDump, kQuantized), IsEmpty());
  EXPECT_THAT(doubts(kFusedDump, kUnfused),
              ElementsAre("model.json: 1 of 3 operators of the dump is not in it "
                          "(net_conv1relu1), 2 of its 4 are not in the dump (conv1, relu1): the "
                          "graph seems to be of another model or build"));
  EXPECT_THAT(
      doubts(kUnfusedDump, kQuantized),
      ElementsAre("model.json: it describes a quantized model (quant), but the target dump "
                  "has nothing quantized: the graph seems to be of another model or build"));
  EXPECT_THAT(doubts(kQuantizedDump, kUnfused), ElementsAre(HasSubstr("2 of 6 operators")));
  // A few operators that nobody quantized, of a model that is: nothing contradicts the graph.
  EXPECT_THAT(doubts({{"prob", "SoftmaxV2"}}, kQuantized), IsEmpty());
  // Who says that the model is quantized is believed.
  EXPECT_THAT(doubts(kUnfusedDump, kQuantized, "quantized-offline-vs-original"), IsEmpty());
}

TEST(GraphDoubts, TheFileOfTheQuantizationTool) {
  Graphs graphs;
  graphs.quant = recorded_graph_of(kQuantized);
  const GraphFiles files{"", "", "quant.json"};
  EXPECT_THAT(graph_doubts(device_set_of(kQuantizedDump), device_set_of({}), graphs, files, ""),
              IsEmpty());
  EXPECT_THAT(graph_doubts(device_set_of(kFusedDump), device_set_of({}), graphs, files, ""),
              ElementsAre(HasSubstr("quant.json: it describes a quantized model")));
}

// Limits are those of the model that was dumped, not of the one that was described.
TEST(GraphFit, OnlyTheDumpMakesAModelQuantized) {
  const graph::Graph graph = recorded_graph_of(kQuantized);
  EXPECT_TRUE(is_quantized(device_set_of(kQuantizedDump), nullptr));
  EXPECT_FALSE(is_quantized(device_set_of(kUnfusedDump), &graph));
  DumpSet integers = device_set_of(kUnfusedDump);  // quantizing was fused into conv1
  integers.entries.front().info = TensorInfo();
  integers.entries.front().info->dtype = DType::kInt8;
  EXPECT_TRUE(is_quantized(integers, &graph));
  EXPECT_FALSE(is_quantized(integers, nullptr));  // a mask, for all we know
  integers.entries.front().info->dtype = DType::kUint8;
  EXPECT_FALSE(is_quantized(integers, &graph));

  Graphs graphs;
  graphs.target = graph;
  const auto scenario = find_scenario(device_set_of(kUnfusedDump), DumpSet(), graphs, "");
  ASSERT_TRUE(scenario);
  EXPECT_EQ((*scenario)->name, "offline-vs-original");
  EXPECT_EQ((*scenario)->profile, "standard");
}

TEST(GraphFit, ExchangedGraphsAreRefused) {
  Graphs graphs;
  graphs.target = recorded_graph_of(kUnfused);
  graphs.golden = recorded_graph_of(kFused);
  const auto exchanged =
      find_scenario(device_set_of(kFusedDump), device_set_of(kUnfusedDump), graphs, "");
  ASSERT_FALSE(exchanged);
  EXPECT_EQ(exchanged.error().what, "--graph and --golden-graph seem to be exchanged");
  EXPECT_TRUE(find_scenario(device_set_of(kUnfusedDump), device_set_of(kFusedDump), graphs, ""));
}

TEST(GraphNotes, OperatorsThatWereNotDumped) {
  Graphs graphs;
  graphs.target = recorded_graph_of(kFused);
  const DumpSet part = device_set_of({{"net_conv1relu1", "Conv2D"}, {"prob", "SoftmaxV2"}});
  EXPECT_THAT(graph_notes(part, graphs, "", {}),
              ElementsAre("1 operator of the graph was not dumped: pool"));
  EXPECT_THAT(graph_notes(device_set_of(kFusedDump), graphs, "", {}), IsEmpty());
  const auto only_prob = [](const dump::Entry& entry) { return entry.operator_name == "prob"; };
  EXPECT_THAT(graph_notes(part, graphs, "", only_prob), IsEmpty());
}

}  // namespace
}  // namespace plumb::pair
