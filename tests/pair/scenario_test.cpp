// SPDX-License-Identifier: Apache-2.0
#include "pair/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plumb::pair {
namespace {

using dump::DumpSet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DumpSet set_in_convention(std::string_view convention, const std::vector<std::string>& operators) {
  DumpSet set;
  for (const dump::Convention& known : dump::conventions())
    if (known.name == convention) set.traits = known.traits;
  for (const std::string& name : operators) set.entries.emplace_back().operator_name = name;
  return set;
}

graph::Graph converted(std::vector<std::string> origins) {
  graph::Graph graph;
  graph.operators.emplace_back().name = "conv1relu1";
  graph.operators.back().origins = std::move(origins);
  return graph;
}

std::string told(const DumpSet& target, const DumpSet& golden, const Graphs& graphs = {},
                 std::string_view mode = "") {
  const auto scenario = find_scenario(target, golden, graphs, mode);
  return scenario ? std::string((*scenario)->name)
                  : scenario.error().what + "|" + scenario.error().remedy;
}

const DumpSet kNpu = set_in_convention("ascend-dump", {"conv1relu1"});
const DumpSet kQuantizedNpu = set_in_convention("ascend-dump", {"conv1_quant_layer", "conv1"});
const DumpSet kNpy = set_in_convention("named-npy", {"conv1", "relu1", "x_quantile"});
const DumpSet kQuantizedNpy =
    set_in_convention("named-npy", {"conv1_quant_layer", "conv1_dequant_layer"});

TEST(Scenario, ToldFromTheContent) {
  Graphs one, two, quant;
  one.target = converted({"conv1", "relu1"});
  two.target = converted({"conv1", "relu1"});
  two.golden = converted({"conv1"});
  quant.quant = converted({"conv1"});
  EXPECT_EQ(told(kNpu, kNpy, one), "offline-vs-original");
  EXPECT_EQ(told(kNpu, kNpy), "offline-vs-original");
  EXPECT_EQ(told(kNpy, kNpy, one), "offline-vs-original");  // a dump converted to npy
  EXPECT_EQ(told(kQuantizedNpy, kNpy, quant), "quantized-original-vs-original");
  EXPECT_EQ(told(kQuantizedNpy, kNpy), "quantized-original-vs-original");
  EXPECT_EQ(told(kQuantizedNpy, kQuantizedNpy), "dump-vs-dump");
  EXPECT_EQ(told(kQuantizedNpu, kQuantizedNpy, one), "quantized-offline-vs-quantized-original");
  EXPECT_EQ(told(kQuantizedNpu, kNpy, one), "quantized-offline-vs-original");
  EXPECT_EQ(told(kQuantizedNpu, kNpy, quant), "quantized-offline-vs-original");
  EXPECT_EQ(told(kNpu, kNpu), "npu-vs-npu");
  EXPECT_EQ(told(kQuantizedNpu, kQuantizedNpu), "npu-vs-npu");
  EXPECT_EQ(told(kNpu, kNpu, two), "fusion-on-vs-off");
  EXPECT_EQ(told(kNpy, kNpy), "dump-vs-dump");
  EXPECT_EQ(told(kNpu, kNpu, {}, "processor-switch"), "processor-switch");
}

TEST(Scenario, WhatMakesNoSenseIsRefused) {
  Graphs one;
  one.target = converted({"conv1", "relu1"});
  EXPECT_THAT(told(kQuantizedNpu, kNpu), HasSubstr("a quantized model is compared with one"));
  EXPECT_THAT(told(kNpu, kQuantizedNpu), HasSubstr("a quantized model is compared with one"));
  EXPECT_THAT(told(kNpu, kNpu, one), HasSubstr("only one of two converted models"));
  EXPECT_THAT(told(kNpu, kQuantizedNpy, one), HasSubstr("the golden side is quantized"));
  Graphs two = one;
  two.golden = one.target;
  EXPECT_THAT(told(kNpu, kNpu, two, "processor-switch"), HasSubstr(R"("UBFusion":{"ALL":"off"})"));
  EXPECT_THAT(told(kNpu, kNpu, {}, "npu-vs-cpu"), HasSubstr("did you mean 'npu-vs-npu'?"));
  // Whoever asks for plain names gets them.
  EXPECT_EQ(told(kQuantizedNpu, kNpu, {}, "dump-vs-dump"), "dump-vs-dump");
}

// The file of the quantization tool leads to the original, which a quantized golden side is not.
TEST(Scenario, QuantNeedsTheOriginalAsGolden) {
  Graphs alone, both;
  alone.quant = both.quant = converted({"conv1"});
  both.target = converted({"conv1"});
  EXPECT_THAT(told(kQuantizedNpu, kQuantizedNpy, alone), HasSubstr("instead of --quant"));
  EXPECT_THAT(told(kQuantizedNpu, kQuantizedNpy, both), HasSubstr("leave out --quant;"));
  EXPECT_THAT(told(kQuantizedNpy, kQuantizedNpy, alone), HasSubstr("golden is quantized itself"));
  EXPECT_THAT(told(kQuantizedNpu, kQuantizedNpu, alone), HasSubstr("leave out --quant"));
}

TEST(Scenario, ExchangedSidesOfTorchair) {
  const DumpSet ge = set_in_convention("torchair-ge", {"Add_1"}),
                fx = set_in_convention("torchair-fx", {"add_1"});
  EXPECT_EQ(told(ge, fx), "torchair");
  EXPECT_THAT(told(fx, ge), HasSubstr("target and golden seem to be swapped"));
  EXPECT_EQ(told(fx, ge, {}, "dump-vs-dump"), "dump-vs-dump");
}

}  // namespace
}  // namespace plumb::pair
