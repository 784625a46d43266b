// SPDX-License-Identifier: Apache-2.0
//
// What an operator is given by one that has several outputs.
#include "diagnose/net.h"

#include <gtest/gtest.h>

namespace plumb::diagnose {
namespace {

result::Row made_output_row(int64_t node, const std::string& op, const std::string& slot) {
  result::Row row;
  row.node = node;
  row.target.emplace();
  row.target->operator_name = op;
  row.target->slot = slot;
  row.golden = row.target;
  row.verdict = result::Verdict::kPass;
  return row;
}

TEST(Net, AReaderIsGivenTheOutputThatItReads) {
  auto network = std::make_shared<result::Network>();
  network->nodes = {
      {"split", "Split", {}, false}, {"a", "Relu", {}, false}, {"b", "Relu", {}, true}};
  network->edges = {{0, 1, 1, 0}, {0, 7, 2, 0}};
  result::Run run;
  run.network = network;
  run.rows = {made_output_row(0, "split", "output:0"), made_output_row(0, "split", "output:1"),
              made_output_row(0, "split", "output:2"), made_output_row(1, "a", "output:0")};
  const Net net = net_of(run);
  EXPECT_EQ(rows_given(net, net.nodes[1], 0), (std::vector<size_t>{1}));
  // No such slot was compared: any of them may be it.
  EXPECT_EQ(rows_given(net, net.nodes[2], 0), (std::vector<size_t>{0, 1, 2}));
}

// Golden's tensor of an operator was paired with the Transpose behind it: its error is the
// operator's own, and whoever else reads the operator reads that.
TEST(Net, AMoverShowsTheOperatorThatGoldensTensorIsOf) {
  auto network = std::make_shared<result::Network>();
  network->nodes = {
      {"concat", "Concat", {}, false}, {"moved", "Transpose", {}, false}, {"sub", "Sub", {}, true}};
  network->edges = {{0, 0, 1, 0}, {0, 0, 2, 0}};
  result::Run run;
  run.network = network;
  run.metrics = {metrics::metric_by_name("rel_euclid")};
  run.rows = {made_output_row(0, "concat", "output:0"), made_output_row(1, "moved", "output:0")};
  run.rows[0].golden.reset();
  run.rows[0].verdict = result::Verdict::kNotCompared;
  run.rows[0].reasons = {"no_counterpart"};
  run.rows[1].golden->operator_name = "concat";
  run.rows[1].values = {metrics::Value::of(0.5)};
  const Net net = net_of(run);
  EXPECT_EQ(net.nodes[0].out.relative, 0.5);
  EXPECT_EQ(net.nodes[0].outputs, (std::vector<size_t>{1}));
  EXPECT_EQ(net.nodes[2].in.relative, 0.5);
}

}  // namespace
}  // namespace plumb::diagnose
