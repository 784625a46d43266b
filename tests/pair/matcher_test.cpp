// SPDX-License-Identifier: Apache-2.0
#include "pair/matcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pair/structure.h"
#include "sample_of.h"

namespace plumb::pair {
namespace {

using graph::Graph;
using graph::Operator;
using testing::HasSubstr;

using Origins = std::optional<std::vector<std::string>>;

// An operator with one output; `origin` is "name:output" or empty.
Operator op(std::string name, std::string type, std::vector<graph::Edge> inputs,
            Origins origins = {}, const std::string& origin = "") {
  Operator made;
  made.name = std::move(name);
  made.type = std::move(type);
  made.inputs = std::move(inputs);
  made.origins = std::move(origins);
  graph::Output& output = made.outputs.emplace_back();
  if (const size_t colon = origin.rfind(':'); colon != std::string::npos) {
    output.origin = origin.substr(0, colon);
    output.origin_output = std::stoll(origin.substr(colon + 1));
  }
  return made;
}
Operator typed(Operator made, DType dtype) {
  made.outputs.front().dtype = dtype;
  return made;
}
Graph graph_of(std::vector<Operator> operators) {
  Graph graph;
  graph.operators = std::move(operators);
  return graph;
}

// "relu1:0 (origin)", or "inside_fusion".
std::string text(const Match& match) {
  return match.golden
             ? fmt::format("{}:{} ({})", match.golden->op, match.golden->output, match.rule)
             : std::string(match.reason);
}
// The target as structure tells it against an original.
Graph with_origins(Graph target, Graph original) {
  align_graphs(target, original);
  return target;
}

std::string output_of(const Matcher& matcher, std::string_view name, int64_t k = 0) {
  return text(matcher.output(*matcher.find(name), k));
}
std::string input_of(const Matcher& matcher, std::string_view name, int64_t k = 0) {
  return text(matcher.input(*matcher.find(name), k));
}

// Calls of graphs, and TransData into which a Reshape was merged, in the golden graph.
TEST(Matcher, GoldenTensorsAreThoseOfWhatIsDumped) {
  const Graph target = graph_of({op("transpose", "Transpose", {}, {{"t", "t"}}, "t:0"),
                                 op("trans_7", "TransData", {{"relu", 0}}, {{}}, "reshape:0"),
                                 op("relu", "Relu", {}, {{"relu"}})});
  const Graph golden = graph_of({op("call", "PartitionedCall", {}, {}, "t:0"),
                                 op("transpose_2", "Transpose", {}, {{"t", "t"}}, "t:0"),
                                 op("trans_3", "TransData", {{"relu_4", 0}}, {{}}, "reshape:0"),
                                 op("trans_5", "TransData", {{"relu_4", 0}}, {{}}, "relu:0"),
                                 op("relu_4", "Relu", {}, {{"relu"}})});
  const Matcher matcher(target, &golden);
  EXPECT_EQ(output_of(matcher, "transpose"), "transpose_2:0 (origin)");
  EXPECT_EQ(output_of(matcher, "trans_7"), "trans_3:0 (origin)");
  EXPECT_EQ(output_of(matcher, "relu"), "relu_4:0 (renamed)");
}

// As ATC makes a Gather of ONNX: the constant is its axis.
TEST(Matcher, AConstantBesideTheOnlyOperatorMadeOfAnOriginalIsNotInItsWay) {
  const Graph graph = graph_of({
      op("Gather_5_const_data", "Const", {}, {{"Gather_5"}}),
      op("Gather_5_gatherv2", "GatherV2", {{"data", 0}, {"Gather_5_const_data", 0}},
         {{"Gather_5"}}),
      op("weight", "Const", {}, {{"w"}}),
      op("g_1", "Split", {{"data", 0}}, {{"g"}}),
      op("g_2", "Concat", {{"g_1", 0}}, {{"g"}}),
  });
  const Matcher matcher(graph);
  EXPECT_EQ(output_of(matcher, "Gather_5_gatherv2"), "Gather_5:0 (renamed)");
  EXPECT_EQ(output_of(matcher, "Gather_5_const_data"), "inside_fusion");
  EXPECT_EQ(matcher.made_of("Gather_5")->name, "Gather_5_gatherv2");
  EXPECT_EQ(output_of(matcher, "weight"), "w:0 (renamed)");
  EXPECT_EQ(output_of(matcher, "g_1"), "inside_fusion");
  Graph unfused = graph;
  for (Operator& each : unfused.operators) {
    each.name += "_7";
    for (graph::Edge& edge : each.inputs) edge.producer += "_7";
  }
  EXPECT_EQ(output_of(Matcher(graph, &unfused), "Gather_5_gatherv2"),
            "Gather_5_gatherv2_7:0 (renamed)");
}

TEST(Matcher, FollowsWhatIsRecorded) {
  const Graph graph = graph_of({
      op("data", "Data", {}),
      op("trans", "TransData", {{"data", 0}}, {{}}),
      op("conv1relu1", "Conv2D", {{"trans", 0}, {"weight", 0}}, {{"conv1", "relu1"}}, "relu1:0"),
      op("weight", "Const", {}, {{}}),
      op("cast", "Cast", {{"conv1relu1", 0}}, {{""}}),
      op("pool_renamed", "Pooling", {{"cast", 0}}, {{"pool1"}}),
      op("g_1", "Split", {{"pool_renamed", 0}}, {{"g"}}),
      op("g_2", "Concat", {{"g_1", 0}}, {{"g"}}, "g:0"),
      op("many", "Mul", {{"g_2", 0}}, {{"a", "b"}}),
      op("npu_only", "Foo", {{"many", 0}}, {{}}),
      op("lost", "Relu", {{"nowhere", 0}, {"", 0}}),
  });
  const Matcher matcher(graph);
  EXPECT_EQ(output_of(matcher, "data"), "data:0 (own-name)");
  EXPECT_EQ(output_of(matcher, "trans"), "data:0 (own-name)");
  EXPECT_EQ(input_of(matcher, "conv1relu1"), "data:0 (own-name)");
  EXPECT_EQ(output_of(matcher, "conv1relu1"), "relu1:0 (origin)");
  EXPECT_EQ(output_of(matcher, "cast"), "relu1:0 (origin)");
  EXPECT_EQ(output_of(matcher, "pool_renamed"), "pool1:0 (renamed)");
  EXPECT_EQ(input_of(matcher, "pool_renamed"), "relu1:0 (origin)");
  EXPECT_EQ(output_of(matcher, "g_1"), "inside_fusion");  // one of two that were made from g
  EXPECT_EQ(output_of(matcher, "g_2"), "g:0 (origin)");
  EXPECT_EQ(output_of(matcher, "many"), "inside_fusion");
  EXPECT_EQ(output_of(matcher, "npu_only"), "no_counterpart");
  EXPECT_EQ(input_of(matcher, "lost", 0), "ambiguous_pair");
  EXPECT_EQ(input_of(matcher, "lost", 1), "ambiguous_pair");
  EXPECT_EQ(input_of(matcher, "lost", 2), "no_counterpart");
  EXPECT_TRUE(matcher.input(*matcher.find("conv1relu1"), 1).reason == "no_counterpart");
  EXPECT_TRUE(matcher.input(*matcher.find("conv1relu1"), 0).is_source);
  EXPECT_THAT(matcher.output(*matcher.find("cast"), 0).evidence,
              HasSubstr("cast hands on conv1relu1:0"));
}

TEST(Matcher, DumpsWriteNamesDifferently) {
  const Graph graph = graph_of(
      {op("net/conv1", "Conv2D", {}), op("net.conv1", "Conv2D", {}), op("net/fc", "MatMul", {})});
  const Matcher matcher(graph);
  EXPECT_EQ(matcher.find("net/conv1"), &graph.operators[0]);
  EXPECT_EQ(matcher.find("net_conv1"), nullptr);  // both are written so
  EXPECT_EQ(matcher.find("net_fc"), &graph.operators[2]);
  EXPECT_EQ(matcher.find("net_fc1"), nullptr);
}

TEST(Matcher, WhereGoldenOperatorsWent) {
  const Graph graph = graph_of({op("ab", "Conv2D", {}, {{"net/a", "b"}}, "b:0"),
                                op("c", "Relu", {{"ab", 0}}, {{"c"}}, "c:0")});
  const Matcher matcher(graph);
  EXPECT_EQ(matcher.made_of("net_a"), &graph.operators[0]);
  EXPECT_EQ(matcher.made_of("x"), nullptr);
  EXPECT_EQ(matcher.giver_of("b", 0), &graph.operators[0]);
  EXPECT_EQ(matcher.giver_of("net_a", 0), nullptr);  // inside
}

TEST(Matcher, QuantizedModels) {
  Operator quant = typed(op("conv1_quant_layer", "AscendQuant", {{"data", 0}}), DType::kInt8);
  quant.quantization = graph::Quantization{50, -1};
  const Graph target = graph_of({
      op("data", "Data", {}),
      quant,
      typed(op("pool", "MaxPool", {{"conv1_quant_layer", 0}}), DType::kInt8),
      typed(op("conv1", "Conv2D", {{"pool", 0}}), DType::kInt32),
      typed(op("conv1_dequant_layer", "AscendDequant", {{"conv1", 0}}), DType::kFloat32),
      typed(op("relu1", "Relu", {{"conv1_dequant_layer", 0}}), DType::kFloat32),
  });
  const Graph tool = graph_of({
      op("conv1_quant_layer", "Quant", {{"data", 0}}, {{"data"}}, "data:0"),
      op("conv1", "Convolution", {{"conv1_quant_layer", 0}}, {{"conv1", "bn1"}}),
      op("conv1_dequant_layer", "DeQuant", {{"conv1", 0}}, {{"conv1", "bn1"}}, "bn1:0"),
  });
  const Matcher matcher(target, nullptr, &tool);
  EXPECT_EQ(output_of(matcher, "conv1_quant_layer"), "data:0 (own-name)");
  EXPECT_EQ(output_of(matcher, "conv1_dequant_layer"), "bn1:0 (own-name)");
  EXPECT_EQ(input_of(matcher, "relu1"), "bn1:0 (own-name)");
  const auto match_of = [&](std::string_view name) {
    return matcher.output(*matcher.find(name), 0);
  };
  ASSERT_TRUE(match_of("conv1_quant_layer").quantization);
  EXPECT_EQ(match_of("conv1_quant_layer").quantization->scale, 50);
  EXPECT_TRUE(match_of("pool").quantization);  // keeps the scale
  EXPECT_TRUE(match_of("conv1").is_quantized);
  EXPECT_FALSE(match_of("conv1").quantization);
  EXPECT_FALSE(match_of("conv1_dequant_layer").is_quantized);  // also when it gives out float32
  EXPECT_FALSE(match_of("relu1").is_quantized);
  EXPECT_EQ(match_of("conv1_dequant_layer").dequantized_layer, "");  // led back by the tool's graph
  EXPECT_EQ(Matcher(target).output(target.operators[4], 0).dequantized_layer, "conv1");
  EXPECT_EQ(Matcher(target).output(target.operators[1], 0).before_quantization->op, "data");
}

TEST(Matcher, AnotherConvertedGraph) {
  const Graph fused =
      graph_of({op("data", "Data", {}),
                op("conv1relu1", "Conv2D", {{"data", 0}}, {{"conv1", "relu1"}}, "relu1:0"),
                op("x", "Mul", {{"conv1relu1", 0}}, {{"x"}}, "x:0"),
                op("y", "Mul", {{"x", 0}}, {{"y"}}, "y:0")});
  const Graph unfused = graph_of({op("data", "Data", {}),
                                  op("conv1", "Conv2D", {{"data", 0}}, {{"conv1"}}, "conv1:0"),
                                  op("relu_7", "Relu", {{"conv1", 0}}, {{"relu1"}}, "relu1:0"),
                                  op("trans", "TransData", {{"relu_7", 0}}, {{"relu1"}}, "relu1:0"),
                                  op("x_a", "Mul", {{"trans", 0}}, {{"x"}}, "x:0"),
                                  op("x_b", "Mul", {{"trans", 0}}, {{"x"}}, "x:0")});
  const Matcher matcher(fused, &unfused);
  EXPECT_EQ(output_of(matcher, "conv1relu1"), "relu_7:0 (origin)");  // not the TransData
  EXPECT_EQ(output_of(matcher, "data"), "data:0 (own-name)");
  EXPECT_EQ(output_of(matcher, "x"), "ambiguous_pair");
  EXPECT_EQ(output_of(matcher, "y"), "no_golden");
  EXPECT_EQ(matcher.golden_readers({"data", 0}).front().op, "conv1");
  EXPECT_EQ(matcher.made_of("relu_7"), &fused.operators[1]);
}

TEST(Matcher, CyclesEnd) {
  const Graph graph = graph_of({op("a", "Cast", {{"b", 0}}), op("b", "Cast", {{"a", 0}})});
  EXPECT_EQ(output_of(Matcher(graph), "a"), "no_counterpart");
  const Graph told = with_origins(graph, graph);
  EXPECT_EQ(told.operators.size(), 2U);
}

// What was quantized is looked up through casts, which may lead back to the quantizing operator, or
// from one to the next for as long as the file is.
TEST(Matcher, QuantizingOperatorsInACircleOrInARow) {
  const Graph circle = graph_of({op("q", "AscendQuant", {{"c", 0}}), op("c", "Cast", {{"q", 0}})});
  EXPECT_EQ(output_of(Matcher(circle), "q"), "q:0 (own-name)");
  std::vector<Operator> row = {op("data", "Data", {})};
  for (int i = 0; i < 50'000; ++i) {
    row.push_back(op(fmt::format("c{}", i), "Cast", {{row.back().name, 0}}));
    row.push_back(op(fmt::format("q{}", i), "AscendQuant", {{row.back().name, 0}}));
  }
  const Graph deep = graph_of(std::move(row));
  const Matcher matcher(deep);
  const Match last = matcher.output(*matcher.find("q49999"), 0);
  ASSERT_TRUE(last.before_quantization);
  EXPECT_EQ(last.before_quantization->op, "q49998");
}

TEST(Matcher, OriginsOfAnyIndex) {
  const Graph graph = graph_of({op("a", "Conv2D", {}, Origins{{"b"}}, "b:-3000000000")});
  const Graph quant = graph_of({op("b", "Conv2D", {}, Origins{{"c"}}, "c:0")});
  EXPECT_EQ(output_of(Matcher(graph, nullptr, &quant), "a"), "c:-3000000000 (origin)");
}

TEST(Matcher, EmptyGraphs) {
  const Graph none;
  EXPECT_EQ(Matcher(none).find("a"), nullptr);
  EXPECT_TRUE(with_origins(none, none).operators.empty());
  EXPECT_FALSE(is_quantized(none) || is_converted(none) || count_fused(none) > 0);
}

// A word in a name is no sign of quantization.
TEST(Matcher, QuantizingOperatorsAreKnownByTypeOrEnding) {
  EXPECT_TRUE(is_quant(op("conv1_quant_layer", "Foo", {})));
  EXPECT_TRUE(is_quant(op("a", "AscendQuant", {})));
  EXPECT_FALSE(is_quant(op("conv1_dequant_layer", "Foo", {})));
  EXPECT_TRUE(is_dequant(op("conv1_dequant_layer", "Foo", {})));
  EXPECT_FALSE(is_quant(op("x_quantile", "Foo", {})));
  EXPECT_FALSE(is_quant(op("my_quant_layers", "Foo", {})));
}

TEST(Structure, WhatCannotBeToldIsNotPaired) {
  // Two convolutions of the same shape read the same tensor, under new names, and meet in an
  // addition.
  const Graph original = graph_of({op("data", "Data", {}), op("conv1", "Conv", {{"data", 0}}),
                                   op("conv10", "Conv", {{"data", 0}}),
                                   op("sum", "Add", {{"conv1", 0}, {"conv10", 0}})});
  const Graph converted =
      graph_of({op("data", "Data", {}), op("p", "Conv2D", {{"data", 0}}),
                op("q", "Conv2D", {{"data", 0}}), op("sum", "Add", {{"p", 0}, {"q", 0}})});
  const Graph told = with_origins(converted, original);
  const Matcher matcher(told);
  EXPECT_EQ(output_of(matcher, "p"), "ambiguous_pair");
  EXPECT_EQ(output_of(matcher, "q"), "ambiguous_pair");
  EXPECT_EQ(output_of(matcher, "sum"), "sum:0 (structure)");
  // A concatenation keeps the order of its inputs, so it tells them apart.
  Graph joined = original, joined_converted = converted;
  joined.operators[3].type = "Concat";
  joined_converted.operators[3].type = "ConcatD";
  const Graph told_joined = with_origins(joined_converted, joined);
  EXPECT_EQ(output_of(Matcher(told_joined), "p"), "conv1:0 (structure)");
  EXPECT_EQ(output_of(Matcher(told_joined), "q"), "conv10:0 (structure)");
}

// A damaged original: a padding that reads itself, and two that read each other.
TEST(Structure, PaddingsInACircle) {
  const Graph converted = graph_of(
      {op("data", "Data", {}), op("pad", "Pad", {{"data", 0}}), op("x", "Conv2D", {{"data", 0}})});
  const Graph self = graph_of({op("data", "Data", {}), op("pad", "Pad", {{"pad", 0}})});
  EXPECT_EQ(output_of(Matcher(with_origins(converted, self)), "pad"), "pad:0 (structure)");
  const Graph two = graph_of({op("data", "Data", {}), op("a", "Pad", {{"data", 0}, {"b", 0}}),
                              op("b", "Pad", {{"a", 0}})});
  EXPECT_EQ(output_of(Matcher(with_origins(converted, two)), "x"), "no_counterpart");
}

// What changes no value, or only its precision, has no counterpart where the original has none;
// what comes after it still finds its own.
TEST(Structure, WhatHandsValuesOnNeedsNoCounterpart) {
  const Graph original = graph_of({op("x", "Data", {}), op("c", "Conv", {{"x", 0}}),
                                   op("r", "Relu", {{"c", 0}}), op("f", "Gemm", {{"r", 0}})});
  const Graph target = with_origins(
      graph_of({op("in", "Data", {}), op("q", "QuantizeLinear", {{"in", 0}}),
                op("dq", "DequantizeLinear", {{"q", 0}}), op("w", "Identity", {}),
                op("wq", "DequantizeLinear", {{"w", 0}}),
                op("conv", "Conv", {{"dq", 0}, {"wq", 0}}), op("drop", "Dropout", {{"conv", 0}}),
                op("act", "Relu", {{"drop", 0}}), op("flat", "Flatten", {{"act", 0}}),
                op("fc", "InnerProduct", {{"flat", 0}})}),
      original);
  const Matcher matcher(target, &original);
  EXPECT_EQ(output_of(matcher, "act"), "r:0 (structure)");
  EXPECT_EQ(output_of(matcher, "fc"), "f:0 (structure)");
  for (const char* name : {"q", "dq", "w", "wq", "drop", "flat"})
    EXPECT_EQ(output_of(matcher, name), "no_counterpart") << name;
}

// ... but an operator of its kind in the original is its counterpart, and must be compared.
TEST(Structure, WhatHandsValuesOnPairsWithItsOwnKind) {
  const Graph original = graph_of({op("x", "Data", {}), op("c", "Conv", {{"x", 0}}),
                                   op("d", "Dropout", {{"c", 0}}), op("r", "Relu", {{"d", 0}})});
  const Graph target = with_origins(
      graph_of({op("in", "Data", {}), op("conv", "Conv", {{"in", 0}}),
                op("same", "Identity", {{"conv", 0}}), op("act", "Relu", {{"same", 0}})}),
      original);
  const Matcher matcher(target, &original);
  EXPECT_EQ(output_of(matcher, "same"), "d:0 (structure)");
  EXPECT_EQ(output_of(matcher, "act"), "r:0 (structure)");
}

TEST(Structure, CaffeNormalisesInTwoSteps) {
  const Graph onnx =
      graph_of({op("x", "Data", {}), op("c", "Conv", {{"x", 0}}),
                op("n", "BatchNormalization", {{"c", 0}}), op("r", "Relu", {{"n", 0}})});
  const Graph caffe = graph_of(
      {op("x", "Input", {}), op("c", "Convolution", {{"x", 0}}), op("bn", "BatchNorm", {{"c", 0}}),
       op("scale", "Scale", {{"bn", 0}}), op("relu", "ReLU", {{"scale", 0}})});
  const Graph target = with_origins(caffe, onnx);
  const Matcher matcher(target, &onnx);
  EXPECT_EQ(output_of(matcher, "bn"), "inside_fusion");
  EXPECT_EQ(output_of(matcher, "scale"), "n:0 (structure)");
  EXPECT_EQ(output_of(matcher, "relu"), "r:0 (structure)");
}

// A cast of the original rounds; it is no cast of the compiler's, which only stores otherwise.
TEST(Structure, CastsOfTheOriginalAreCompared) {
  const Graph original =
      graph_of({op("x", "Data", {}), op("i", "Cast", {{"x", 0}}), op("r", "Relu", {{"i", 0}})});
  const Graph target = with_origins(original, original);
  const Matcher matcher(target, &original);
  EXPECT_EQ(output_of(matcher, "i"), "i:0 (structure)");
}

// Long chains that differ everywhere: nothing is paired but their ends, and it does not take for
// ever.
TEST(Structure, LongChainsThatHaveNothingInCommon) {
  const auto chain = [](const char* first, const char* second, int length) {
    std::vector<Operator> ops{op("x", "Data", {})};
    for (int i = 0; i < length; ++i)
      ops.push_back(op(fmt::format("{}{}", i % 2 == 0 ? first : second, i),
                       i % 2 == 0 ? first : second, {{ops.back().name, 0}}));
    return graph_of(std::move(ops));
  };
  const int length = sample_of(5'000, 5);
  const Graph told = with_origins(chain("Exp", "Log", length), chain("Sin", "Cos", length));
  EXPECT_EQ(output_of(Matcher(told), "Exp100"), "no_counterpart");
  const Graph longer = with_origins(chain("Exp", "Log", length), chain("Log", "Exp", length - 100));
  EXPECT_EQ(longer.operators.size(), static_cast<size_t>(length) + 1);
}

}  // namespace
}  // namespace plumb::pair
