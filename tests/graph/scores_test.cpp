// SPDX-License-Identifier: Apache-2.0
#include "graph/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::graph {
namespace {

// A chain of operators behind an input, each named by its place and type.
Graph chain(const std::vector<std::string>& types) {
  Graph graph;
  std::string before;
  for (size_t i = 0; i < types.size(); ++i) {
    Operator& op = graph.operators.emplace_back();
    op.name = std::to_string(i) + types[i];
    op.type = types[i];
    if (i > 0) op.inputs.push_back({before, 0});
    op.outputs.emplace_back();
    before = op.name;
  }
  graph.outputs.push_back({before, 0});
  return graph;
}

std::string scores_of(const std::vector<std::string>& types) {
  const Graph graph = chain(types);
  const auto scores = scores_behind(graph, graph.outputs[0]);
  return scores ? scores->producer : "";
}

TEST(Scores, StandBehindTheSharesAtTheVeryEnd) {
  EXPECT_EQ(scores_of({"Input", "Gemm", "Softmax"}), "1Gemm");
  EXPECT_EQ(scores_of({"Input", "Gemm", "Sigmoid", "Reshape"}), "1Gemm");
  EXPECT_EQ(scores_of({"Input", "Gemm", "LogSoftmax"}), "1Gemm");
  EXPECT_EQ(scores_of({"Input", "Gemm", "QuantizeLinear", "DequantizeLinear", "Softmax",
                       "QuantizeLinear", "DequantizeLinear"}),
            "3DequantizeLinear");
  EXPECT_EQ(scores_of({"Input", "Gemm"}), "");
  EXPECT_EQ(scores_of({"Input", "Softmax"}), "");                 // nothing computed them
  EXPECT_EQ(scores_of({"Input", "Gemm", "Softmax", "Mul"}), "");  // within the model
  EXPECT_EQ(scores_of({"Input"}), "");
}

TEST(Scores, ComeFromWhatWasRounded) {
  const Graph graph = chain({"Input", "Gemm", "QuantizeLinear", "DequantizeLinear", "Softmax"});
  EXPECT_EQ(before_rounding(graph, {"3DequantizeLinear", 0}).producer, "1Gemm");
  EXPECT_EQ(before_rounding(graph, {"1Gemm", 0}).producer, "1Gemm");
  EXPECT_EQ(before_rounding(graph, {"elsewhere", 0}).producer, "elsewhere");
}

TEST(Scores, ALoopOfReshapesEnds) {
  Graph graph = chain({"Reshape", "Reshape"});
  graph.operators[0].inputs.push_back({"1Reshape", 0});
  EXPECT_FALSE(scores_behind(graph, graph.outputs[0]));
}

}  // namespace
}  // namespace plumb::graph
