// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pair/entries_testing.h"
#include "pair/plan.h"

namespace plumb::compare {
namespace {

using dump::DumpSet;
using dump::Entry;
using dump::Slot;
using dump::SlotKind;
using pair::entry;
using pair::input;
using pair::set_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

graph::Operator converted_op(std::string name, std::string type, std::vector<graph::Edge> inputs,
                             std::vector<std::string> origins) {
  graph::Operator made;
  made.name = std::move(name);
  made.type = std::move(type);
  made.inputs = std::move(inputs);
  made.outputs.emplace_back();
  if (!origins.empty()) {
    made.outputs.front().origin = origins.back();
    made.outputs.front().origin_output = 0;
  }
  if (made.type != "Data") made.origins = std::move(origins);
  return made;
}

// data -> trans -> conv1relu1 (of conv1, bn1, relu1) -> fc, and a constant.
graph::Graph network() {
  graph::Graph graph;
  graph.operators = {converted_op("data", "Data", {}, {}),
                     converted_op("trans", "TransData", {{"data", 0}}, {}),
                     converted_op("net/conv1relu1", "Conv2D", {{"trans", 0}, {"weight", 0}},
                                  {"net/conv1", "bn1", "relu1"}),
                     converted_op("weight", "Const", {}, {}),
                     converted_op("fc", "MatMulV2", {{"net/conv1relu1", 0}}, {"fc"})};
  return graph;
}

std::string row_text(const pair::PlannedRow& row) {
  const auto name = [](const Entry* side) {
    return side == nullptr ? std::string("-")
                           : side->operator_name.str() + " " + to_string(side->slot);
  };
  return name(row.target) + " = " + name(row.golden) + " " +
         std::string(row.reason.empty() ? row.rule : row.reason);
}
std::vector<std::string> planned_lines(const DumpSet& target, const DumpSet& golden,
                                       pair::PlanOptions options = {},
                                       const graph::Graph& graph = network()) {
  const pair::Matcher matcher(graph);
  options.matcher = &matcher;
  std::vector<std::string> lines;
  for (const pair::PlannedRow& row : pair::make_plan(target, golden, options))
    lines.push_back(row_text(row));
  return lines;
}

TEST(GraphPlan, InputsAndOutputsFindTheirTensors) {
  const DumpSet target =
      set_of({entry("trans", input(0)), entry("trans"), entry("net_conv1relu1", input(0)),
              entry("net_conv1relu1", input(1)), entry("net_conv1relu1"), entry("fc", input(0)),
              entry("fc")});
  const DumpSet golden = set_of({entry("data"), entry("net_conv1"), entry("bn1"), entry("relu1"),
                                 entry("fc"), entry("other")});
  EXPECT_THAT(
      planned_lines(target, golden),
      UnorderedElementsAre(
          "trans input:0 = data output:0 own-name", "trans output:0 = data output:0 own-name",
          "net_conv1relu1 input:0 = data output:0 own-name",
          "net_conv1relu1 input:1 = - no_counterpart",
          "net_conv1relu1 output:0 = relu1 output:0 origin", "fc input:0 = relu1 output:0 origin",
          "fc output:0 = fc output:0 origin", "- = net_conv1 output:0 inside_fusion",
          "- = bn1 output:0 inside_fusion", "- = other output:0 no_target"));
}

// Tools save the inputs of a model as input_<name>, with or without the scopes before the name.
TEST(GraphPlan, InputsOfTheModelAreFoundWithoutTheirScopes) {
  graph::Graph graph;
  graph.operators = {
      converted_op("a/ids", "Data", {}, {}), converted_op("b/mask", "Data", {}, {}),
      converted_op("b/weight", "Const", {}, {}),
      converted_op("sum", "Add", {{"a/ids", 0}, {"b/mask", 0}, {"b/weight", 0}}, {"sum"})};
  const DumpSet target = set_of(
      {entry("sum", input(0)), entry("sum", input(1)), entry("sum", input(2)), entry("sum")});
  const auto with = [&](const char* ids, const char* mask) {
    return planned_lines(target,
                         set_of({entry(ids, input(0)), entry(mask, input(0)),
                                 entry("weight", input(0)), entry("sum")}),
                         {}, graph);
  };
  for (const auto& [ids, mask] : {std::pair{"ids", "mask"}, {"a_ids", "mask"}, {"ids", "b_mask"}})
    EXPECT_THAT(
        with(ids, mask),
        UnorderedElementsAre(fmt::format("sum input:0 = {} input:0 own-name", ids),
                             fmt::format("sum input:1 = {} input:0 own-name", mask),
                             "sum input:2 = - no_counterpart",  // a constant is no input
                             "- = weight input:0 no_target", "sum output:0 = sum output:0 origin"));
  graph.operators[1].name = "b/ids";
  graph.operators[3].inputs[1].producer = "b/ids";
  EXPECT_THAT(with("ids", "other"), testing::IsSupersetOf({"sum input:0 = - ambiguous_pair",
                                                           "sum input:1 = - ambiguous_pair"}));
}

// What the graph gives out and target did not dump is a loss, not a fusion.
TEST(GraphPlan, AMissingDumpIsNoFusion) {
  EXPECT_THAT(
      planned_lines(set_of({entry("fc")}), set_of({entry("relu1"), entry("bn1"), entry("fc")})),
      UnorderedElementsAre("fc output:0 = fc output:0 origin", "- = relu1 output:0 no_target",
                           "- = bn1 output:0 inside_fusion"));
  EXPECT_THAT(
      planned_lines(set_of({entry("net_conv1relu1")}), set_of({entry("fc")})),
      UnorderedElementsAre("net_conv1relu1 output:0 = - no_golden", "- = fc output:0 no_target"));
}

TEST(GraphPlan, DamagedFilesFollowTheGraph) {
  EXPECT_THAT(
      planned_lines(set_of({entry("fc")}, {"Conv2D.net_conv1relu1.3.17.1682931245123456"}),
                    set_of({entry("relu1"), entry("fc")})),
      UnorderedElementsAre("fc output:0 = fc output:0 origin", "- = relu1 output:0 damaged_file"));
  EXPECT_THAT(planned_lines(set_of({entry("net_conv1relu1"), entry("fc", input(0))}),
                            set_of({}, {"relu1.0.1682931245123456.npy"})),
              UnorderedElementsAre("net_conv1relu1 output:0 = - damaged_file",
                                   "fc input:0 = - damaged_file"));
}

TEST(GraphPlan, TheMapComesFirst) {
  pair::PlanOptions options;
  options.map.operators = {{"net_conv1relu1", "bn1"}};
  options.map.tensors = {{"fc output:0", {"other", Slot{}}}};
  EXPECT_THAT(planned_lines(set_of({entry("net_conv1relu1"), entry("fc")}),
                            set_of({entry("bn1"), entry("other")}), options),
              UnorderedElementsAre("net_conv1relu1 output:0 = bn1 output:0 map",
                                   "fc output:0 = other output:0 map"));
}

TEST(GraphPlan, SelectionGoesByTheTargetsNames) {
  pair::PlanOptions options;
  options.wants = [](const Entry& e) { return e.operator_name == "fc"; };
  EXPECT_THAT(
      planned_lines(set_of({entry("net_conv1relu1"), entry("fc")}),
                    set_of({entry("relu1"), entry("bn1"), entry("fc")}), options),
      UnorderedElementsAre("net_conv1relu1 output:0 = relu1 output:0 filtered",
                           "fc output:0 = fc output:0 origin", "- = bn1 output:0 filtered"));
}

// What the compiler inserted may flatten, as a fully connected layer wants it: told by the graph,
// and no difference. Anything else has to agree in shape.
TEST(GraphPlan, AnInsertedOperatorMayHaveAnotherShape) {
  struct Case {
    const char* what;
    std::optional<Shape> read, given;
    bool is_flat;
  };
  const Case cases[] = {
      {"the same", Shape{1, 128, 6, 6}, Shape{1, 128, 6, 6}, false},
      {"flattened", Shape{1, 128, 6, 6}, Shape{1, 4608}, true},
      {"an axis of length 1", Shape{1, 128, 6, 6}, Shape{128, 6, 6}, false},
      {"axes in another order", Shape{1, 128, 6, 4}, Shape{1, 6, 4, 128}, false},
      {"other sizes", Shape{1, 128, 6, 6}, Shape{1, 4600}, false},
      {"of any batch", Shape{-1, 128, 6, 6}, Shape{-1, 4608}, false},
      {"not known", std::nullopt, Shape{1, 4608}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    graph::Graph graph;
    graph.operators = {converted_op("pool7", "Pooling", {}, {"pool"}),
                       converted_op("trans_1", "TransData", {{"pool7", 0}}, {}),
                       converted_op("fc", "FullyConnection", {{"trans_1", 0}}, {"fc"})};
    graph.operators[0].outputs[0].origin_shape = c.read;
    graph.operators[1].outputs[0].origin_shape = c.given;
    const pair::Matcher matcher(graph);
    pair::PlanOptions options;
    options.matcher = &matcher;
    const DumpSet target = set_of({entry("pool7"), entry("trans_1"), entry("fc", input(0))});
    const DumpSet golden = set_of({entry("pool")});
    std::vector<std::string> lines;
    for (const pair::PlannedRow& row : pair::make_plan(target, golden, options))
      lines.push_back(row_text(row) + (row.is_flat ? " flat" : ""));
    const std::string flat = c.is_flat ? " flat" : "";
    EXPECT_THAT(lines, UnorderedElementsAre("pool7 output:0 = pool output:0 origin",
                                            "trans_1 output:0 = pool output:0 origin" + flat,
                                            "fc input:0 = pool output:0 origin" + flat));
  }
}

// A tensor of golden stays as long as anything selected reads it, by whatever slot.
TEST(GraphPlan, SelectedInputsKeepTheirGoldenTensors) {
  const DumpSet target = set_of({entry("net_conv1relu1"), entry("fc", input(0)), entry("fc")});
  const DumpSet golden = set_of({entry("relu1"), entry("fc")});
  pair::PlanOptions options;
  options.wants = [](const Entry& e) {
    return e.operator_name == "fc" && e.slot.kind == SlotKind::kInput;
  };
  EXPECT_THAT(planned_lines(target, golden, options),
              UnorderedElementsAre("net_conv1relu1 output:0 = - filtered",
                                   "fc input:0 = relu1 output:0 origin",
                                   "fc output:0 = fc output:0 filtered"));
}

Entry at(int64_t time, std::string name) {
  Entry made = entry(std::move(name));
  made.timestamp = time;
  return made;
}

// Two quantized layers, each quantized, dequantized and followed by another operator.
graph::Graph quantized_network() {
  graph::Graph graph;
  graph.operators = {converted_op("data", "Data", {}, {})};
  std::string last = "data";
  for (const std::string n : {"1", "2"}) {
    const std::string quant = "conv" + n + "_quant_layer", dequant = "conv" + n + "_dequant_layer";
    graph.operators.push_back(converted_op(quant, "AscendQuant", {{last, 0}}, {quant}));
    graph.operators.push_back(converted_op("conv" + n, "Conv2D", {{quant, 0}}, {"conv" + n}));
    graph.operators.push_back(converted_op(dequant, "AscendDequant", {{"conv" + n, 0}}, {dequant}));
    graph.operators.push_back(converted_op("relu" + n, "Relu", {{dequant, 0}}, {"relu" + n}));
    last = "relu" + n;
  }
  return graph;
}

TEST(GraphPlan, OnlyTheLayerBeforeAFoldedOperatorIsInDoubt) {
  graph::Graph graph = quantized_network();
  const DumpSet target = set_of({entry("conv1_dequant_layer"), entry("conv2_dequant_layer")});
  const auto dequantized = [&](const DumpSet& golden) {
    std::vector<std::string> lines = planned_lines(target, golden, {}, graph);
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("- ="); });
    return lines;
  };
  const char* const first = "conv1_dequant_layer output:0 = conv1 output:0 dequantized-layer";
  const char* const second = "conv2_dequant_layer output:0 = conv2 output:0 dequantized-layer";
  const char* const no_first = "conv1_dequant_layer output:0 = - ambiguous_pair";
  const char* const no_second = "conv2_dequant_layer output:0 = - ambiguous_pair";
  const auto golden = [](int64_t bn, int64_t conv2 = 4) {
    return set_of(
        {at(1, "conv1"), at(3, "relu1"), at(conv2, "conv2"), at(6, "relu2"), at(bn, "bn")});
  };
  EXPECT_THAT(dequantized(golden(2)), ElementsAre(no_first, second));
  EXPECT_THAT(dequantized(golden(5)), ElementsAre(first, no_second));
  // What hands the dequantized tensor on is not what reads it.
  graph.operators.push_back(converted_op("trans", "TransData", {{"conv1_dequant_layer", 0}}, {}));
  EXPECT_THAT(dequantized(golden(2)), ElementsAre(no_first, second));
  // conv2 comes after what reads it: not in the order of the graph. And none at all.
  EXPECT_THAT(dequantized(golden(2, 7)), ElementsAre(no_first, no_second));
  EXPECT_THAT(dequantized(set_of(
                  {entry("conv1"), entry("relu1"), entry("conv2"), entry("relu2"), entry("bn")})),
              ElementsAre(no_first, no_second));
}

// conv1 is no substitute for a conv1_dequant_layer that golden has, but that cannot be read.
TEST(GraphPlan, NothingTakesThePlaceOfADamagedFile) {
  EXPECT_THAT(planned_lines(set_of({entry("conv1_dequant_layer"), entry("conv2_quant_layer")}),
                            set_of({at(1, "conv1"), at(3, "relu1")},
                                   {"conv1_dequant_layer.0.1682931245123456.npy",
                                    "conv2_quant_layer.0.1682931245123457.npy"}),
                            {}, quantized_network()),
              UnorderedElementsAre("conv1_dequant_layer output:0 = - damaged_file",
                                   "conv2_quant_layer output:0 = - damaged_file",
                                   "- = conv1 output:0 no_target", "- = relu1 output:0 no_target"));
  EXPECT_THAT(
      planned_lines(set_of({entry("trans"), entry("fc")}),
                    set_of({entry("fc")}, {"data.0.1682931245123456.npy"})),
      UnorderedElementsAre("trans output:0 = - damaged_file", "fc output:0 = fc output:0 origin"));
}

TEST(GraphPlan, OperatorsTheGraphDoesNotKnowGoByName) {
  EXPECT_THAT(planned_lines(set_of({entry("extra")}), set_of({entry("extra")})),
              ElementsAre("extra output:0 = extra output:0 name"));
}

}  // namespace
}  // namespace plumb::compare
