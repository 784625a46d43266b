// SPDX-License-Identifier: Apache-2.0
//
// Which rows show an output of the model, as its graph tells.
#include "compare/model_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

using result::Row;
using result::Verdict;
using testing::ElementsAre;
using testing::IsEmpty;

graph::Operator op(std::string name, std::string type, std::vector<graph::Edge> inputs) {
  graph::Operator op;
  op.name = std::move(name);
  op.type = std::move(type);
  op.inputs = std::move(inputs);
  op.outputs.resize(2);
  return op;
}

Row row(const std::string& name, const std::string& slot, Verdict verdict = Verdict::kPass) {
  Row row;
  row.target.emplace();
  row.target->operator_name = name;
  row.target->slot = slot;
  row.verdict = verdict;
  return row;
}

// "name slot" of the rows that were marked.
std::vector<std::string> marked(const graph::Graph& graph, std::vector<Row> rows) {
  const pair::Matcher matcher(graph);
  ModelOutputs outputs(matcher, nullptr);
  for (const Row& row : rows) outputs.see(row);
  for (Row& row : rows) outputs.mark(row);
  std::vector<std::string> found;
  for (const Row& row : rows)
    if (row.is_model_output) found.push_back(row.target->operator_name + " " + row.target->slot);
  return found;
}

std::vector<std::string> not_compared(const pair::Matcher& matcher, const std::vector<Row>& rows) {
  ModelOutputs outputs(matcher, nullptr);
  for (const Row& row : rows) outputs.see(row);
  return outputs.not_compared();
}

TEST(ModelOutputs, RowsThatShowThem) {
  graph::Graph graph;
  graph.operators = {op("net/conv", "Conv2D", {}), op("split", "Split", {{"net/conv", 0}}),
                     op("cast", "Cast", {{"split", 1}}),
                     op("out", "NetOutput", {{"cast", 0}, {"net/conv", 0}})};
  graph.outputs = {{"cast", 0}, {"net/conv", 0}};
  const std::vector<Row> inside = {row("net_conv", "input:0"), row("net_conv", "output:0"),
                                   row("split", "output:0"), row("split", "output:1")};
  std::vector<Row> all = inside;
  all.push_back(row("cast", "output:0"));
  EXPECT_THAT(marked(graph, all), ElementsAre("net_conv output:0", "cast output:0"));
  // A cast that was not dumped is seen at what it reads.
  EXPECT_THAT(marked(graph, inside), ElementsAre("net_conv output:0", "split output:1"));
  // Nor compared: its own row is still the output, so that its loss shows.
  EXPECT_THAT(marked(graph, {row("cast", "output:0", Verdict::kNotCompared)}),
              ElementsAre("cast output:0"));
  EXPECT_THAT(marked(graph, {row("other", "output:0")}), IsEmpty());
}

// Only the tensor itself tells that it was compared: another output of its operator, or what that
// operator computes it from, does not.
TEST(ModelOutputs, OtherTensorsOfTheOperatorDoNotStandForThem) {
  graph::Graph graph;
  graph.operators = {op("conv", "Conv2D", {}), op("split", "Split", {{"conv", 0}}),
                     op("cast", "Cast", {{"split", 1}})};
  graph.outputs = {{"cast", 0}};
  const pair::Matcher matcher(graph);
  EXPECT_THAT(not_compared(matcher, {row("split", "input:0"), row("split", "output:0")}),
              ElementsAre("cast"));
  // The same values: where they are made, or where what only stores them otherwise reads them.
  EXPECT_THAT(not_compared(matcher, {row("split", "output:1")}), IsEmpty());
  EXPECT_THAT(not_compared(matcher, {row("cast", "input:0")}), IsEmpty());
  EXPECT_THAT(not_compared(matcher, {row("cast", "output:0")}), IsEmpty());
}

TEST(ModelOutputs, GraphWithACircle) {
  graph::Graph graph;
  graph.operators = {op("a", "Cast", {{"b", 0}}), op("b", "Cast", {{"a", 0}})};
  graph.outputs = {{"a", 0}, {"gone", 0}};
  EXPECT_THAT(marked(graph, {row("c", "output:0")}), IsEmpty());
  EXPECT_THAT(not_compared(pair::Matcher(graph), {}), ElementsAre("a", "gone"));
}

}  // namespace
}  // namespace plumb::compare
