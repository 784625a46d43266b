// SPDX-License-Identifier: Apache-2.0
//
// What structure alone tells of two graphs; run_changes does it with many networks.
#include "pair/structure.h"

#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

struct Node {
  const char* name;
  const char* type;
  std::vector<std::string> inputs;
};

graph::Graph graph_of(const std::vector<Node>& nodes) {
  graph::Graph made;
  made.format = "plumb-dump";
  for (const Node& node : nodes) {
    graph::Operator& op = made.operators.emplace_back();
    op.name = node.name;
    op.type = node.type;
    for (const std::string& input : node.inputs) op.inputs.push_back({input, 0});
    graph::Output& output = op.outputs.emplace_back();
    output.name = node.name;
    output.dtype = DType::kFloat32;
    output.shape = Shape{1, 8, 4, 4};
  }
  made.outputs.push_back({made.operators.back().name, 0});
  return made;
}

// The second of two convolutions with fused additions reads the first twice, and that one is read
// where golden has an addition: only what it works on tells which convolution it is. What is
// between them and what was found is told by both.
TEST(Structure, FusedAdditionsInARow) {
  graph::Graph golden = graph_of({{"x", "Data", {}},
                                  {"a", "Conv", {"x"}},
                                  {"b", "Conv", {"a"}},
                                  {"sigmoid", "Sigmoid", {"b"}},
                                  {"silu", "Mul", {"b", "sigmoid"}},
                                  {"c", "Conv", {"silu"}},
                                  {"c_norm", "BatchNormalization", {"c"}},
                                  {"c_sum", "Add", {"c_norm", "a"}},
                                  {"d", "Conv", {"c_sum"}},
                                  {"d_relu", "Relu", {"d"}},
                                  {"e", "Conv", {"d_relu"}},
                                  {"e_norm", "BatchNormalization", {"e"}},
                                  {"e_sum", "Add", {"e_norm", "c_sum"}},
                                  {"e_relu", "Relu", {"e_sum"}},
                                  {"f", "Conv", {"e_relu"}}});
  graph::Graph target = graph_of({{"x", "Data", {}},
                                  {"t1", "Conv", {"x"}},
                                  {"t2", "Conv", {"t1"}},
                                  {"t3", "QuickGelu", {"t2"}},
                                  {"t4", "FusedConv", {"t3", "t1"}},
                                  {"t5", "FusedConv", {"t4"}},
                                  {"t6", "FusedConv", {"t5", "t4"}},
                                  {"t7", "Conv", {"t6"}}});
  align_graphs(target, golden);
  const struct {
    size_t op;
    const char* origin;
  } cases[] = {{1, "a"},      {2, "b"},      {3, "silu"}, {4, "c_sum"},
               {5, "d_relu"}, {6, "e_relu"}, {7, "f"}};
  for (const auto& one : cases)
    EXPECT_EQ(target.operators[one.op].outputs[0].origin, one.origin) << one.op;
}

}  // namespace
}  // namespace plumb::pair
