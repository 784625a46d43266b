// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::msaccucmp {
namespace {

using testing::ElementsAre;

struct Op {
  std::string name;
  std::optional<std::vector<std::string>> origins;
  std::vector<graph::Edge> inputs = {};
  std::string type = "Op";
  DType dtype = DType::kFloat16;
  std::string l1_group = {};
};

graph::Graph graph_of(const std::vector<Op>& ops) {
  graph::Graph graph;
  for (const Op& op : ops) {
    graph::Operator& made = graph.operators.emplace_back();
    made.name = op.name;
    made.type = op.type;
    made.id = static_cast<int64_t>(graph.operators.size());
    made.inputs = op.inputs;
    made.origins = op.origins;
    made.l1_group = op.l1_group;
    graph::Output& output = made.outputs.emplace_back();
    output.has_attributes = true;
    output.dtype = op.dtype;
    if (op.origins && !op.origins->empty()) output.origin = op.origins->back();
  }
  return graph;
}

std::vector<std::string> groups_of(const RuleFile& rules) {
  std::vector<std::string> lines;
  for (const RuleGroup& group : rules.groups()) {
    const GroupNames names = names_of(rules, group);
    lines.push_back(std::to_string(group.index) + " " + names.target + " <- " + names.golden);
  }
  return lines;
}

TEST(RuleFile, GroupsShareTheirOriginals) {
  const RuleFile rules(graph_of({{"a", std::nullopt},
                                 {"b1", {{"b"}}},
                                 {"fused", {{"c", "d"}}},
                                 {"b2", {{"b"}}},
                                 {"inserted", std::vector<std::string>{}},
                                 {"l1", {{"e"}}, {}, "Op", DType::kFloat16, "group 1"},
                                 {"l2", {{"f"}}, {}, "Op", DType::kFloat16, "group 1"},
                                 {"fused2", {{"c", "d"}}},
                                 {"not", {{"cd"}}}}));
  EXPECT_THAT(groups_of(rules), ElementsAre("0 a <- a", "1 b1,b2 <- b", "2 fused,fused2 <- c,d",
                                            "3 inserted <- *", "4 l1,l2 <- e,f", "5 not <- cd"));
  EXPECT_EQ(rules.find("a")->outputs[0].name, "a");
  EXPECT_EQ(rules.find("nobody"), nullptr);
}

TEST(RuleFile, QuantizationIsFollowedToTheOriginals) {
  RuleFile rules(graph_of({{"conv_quant", {{"conv_quant_layer"}}}, {"relu", {{"relu"}}}}));
  rules.merge_quantization(
      RuleFile(graph_of({{"conv_quant_layer", {{"data"}}}, {"relu", {{"relu0"}}}})));
  EXPECT_THAT(groups_of(rules), ElementsAre("0 conv_quant <- data", "1 relu <- relu0"));
  EXPECT_EQ(rules.find("relu")->outputs[0].name, "relu0");
}

// Of the operators that the compiler inserted only the last one stays.
TEST(RuleFile, UnfusedOperatorsBecomeTheOriginals) {
  RuleFile rules(graph_of({{"t0", {{""}}}, {"cr", {{"c", "r"}}}, {"t1", {{""}}}}));
  rules.merge_unfused(
      RuleFile(graph_of({{"t0", {{""}}}, {"conv", {{"c"}}}, {"relu", {{"r"}}}, {"t1", {{""}}}})));
  EXPECT_THAT(groups_of(rules), ElementsAre("1 cr <- conv,relu", "2 t1 <- *"));
  EXPECT_EQ(rules.find("t0"), nullptr);
  EXPECT_EQ(rules.find("cr")->outputs[0].name, "relu");
}

TEST(QuantFilter, TakesOutWhatWorksOnIntegers) {
  const auto filtered = [](DType dequantized) {
    const RuleFile rules(graph_of({
        {"data", std::nullopt},
        {"c_quant_layer", std::nullopt, {{"data", 0}}, "AscendQuant", DType::kInt8},
        {"c", std::nullopt, {{"c_quant_layer", 0}}, "Conv2D", DType::kInt32},
        {"c_dequant_layer", std::nullopt, {{"c", 0}}, "AscendDequant", dequantized},
        {"relu", std::nullopt, {{"c_dequant_layer", 0}}},
    }));
    std::vector<std::string> names;
    for (const RuleOperator& op : rules.operators())
      if (op.is_filtered) names.push_back(op.name);
    return names;
  };
  EXPECT_THAT(filtered(DType::kFloat16), ElementsAre("c"));
  // Known defect: a dequantizer that gives float32 never ends the pair.
  EXPECT_THAT(filtered(DType::kFloat32), ElementsAre("c", "c_dequant_layer", "relu"));
}

TEST(ChosenIds, RangesAndSelections) {
  const RuleFile rules(
      graph_of({{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}, {"e", {}}, {"f", {}}}));
  struct Case {
    Choice choice;
    std::vector<int64_t> expected;  // or minus the code
  };
  const Case kCases[] = {
      {{"2,5,2", ""}, {2, 4, 5}},  // the end is always in
      {{",,", ""}, {1, 2, 3, 4, 5, 6}},
      {{"3,-1,5", ""}, {3, 6}},
      {{"0,5,1", ""}, {-12}},
      {{"5,4,1", ""}, {-12}},
      {{"1,7,1", ""}, {-12}},
      {{"1,6,6", ""}, {-12}},
      {{"1,6", ""}, {-6}},
      {{"a,6,1", ""}, {-6}},
      {{"99999999999999999999,6,1", ""}, {-6}},
      {{"", "5,1"}, {5, 1}},
      {{"", "5,9"}, {5}},
      {{"", "9"}, {-6}},
      {{"", "1,x"}, {-6}},
  };
  for (const Case& c : kCases) {
    std::vector<std::string> warnings;
    auto ids = chosen_ids(rules, c.choice, warnings);
    const auto got = ids ? *ids : std::vector<int64_t>{-static_cast<int64_t>(ids.fault().code)};
    EXPECT_EQ(got, c.expected) << c.choice.range << c.choice.select;
  }
}

}  // namespace
}  // namespace plumb::msaccucmp
