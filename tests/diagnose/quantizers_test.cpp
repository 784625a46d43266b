// SPDX-License-Identifier: Apache-2.0
//
// Operators that only the target has and that only quantize, with tensors in memory.
#include "diagnose/quantizers.h"

#include <cmath>

#include <gtest/gtest.h>

#include "diagnose/made_network.h"

namespace plumb::diagnose {
namespace {

// conv -> d -> out; the target alone has the one in the middle, which gives numbers or integers.
MadeNetwork network_of(float step, const char* type) {
  MadeNetwork network;
  network.add("conv", "Conv2D", "", made_numbers(1));
  std::vector<float> rounded = network.operators[0].golden;
  for (float& value : rounded) value = step * std::round(value / step);
  network.operators.push_back({"d", type, "conv", {}, rounded, {}});
  network.add("out", "Conv2D", "d", made_numbers(2));
  return network;
}

const Node& node_of(const Net& net, std::string_view name) {
  for (const Node& node : net.nodes)
    if (node.name == name) return node;
  throw std::runtime_error("no such operator");
}

// Golden has no such operators, as a graph of a converted model says of them.
Net net_with_quantizers(const result::Run& run) {
  Net net = net_of(run);
  for (size_t i = 0; i < run.rows.size(); ++i)
    for (Node& node : net.nodes)
      if (run.rows[i].target && !run.rows[i].golden &&
          node.name == run.rows[i].target->operator_name)
        node.inserted = i;
  return net;
}

TEST(Quantizers, StandForWhatTheyQuantize) {
  const MadeNetwork network = network_of(0.05F, "FakeQuant");
  const auto compared = network.compared();
  Net net = net_with_quantizers(compared.run);
  Tensors tensors(&compared.session);
  look_at_quantizers(net, tensors, RunContext{});
  const Node& dequant = node_of(net, "d");
  ASSERT_TRUE(dequant.stands_for.has_value());
  EXPECT_EQ(compared.run.rows[*dequant.stands_for].golden->operator_name, "conv");
  // By hand: rounding errors are spread evenly over a step.
  double squares = 0;
  for (const float value : network.operators[0].golden) squares += double{value} * value;
  const double expected = 0.05 / std::sqrt(12 * squares / kMadeElements);
  EXPECT_NEAR(dequant.own, expected, 0.1 * expected);
  EXPECT_EQ(dequant.in.relative, 0);
  EXPECT_NEAR(dequant.out.relative, expected, 0.1 * expected);
  // Who reads it reads that.
  EXPECT_EQ(node_of(net, "out").in.relative, dequant.out.relative);
}

// A range that holds all of golden's values is not to blame for what a fault before it brought; one
// that is too small is.
// Some tools write a Cast of the integers between the two.
TEST(Quantizers, AreFoundAroundACast) {
  MadeNetwork network = network_of(0.05F, "DequantizeLinear");
  std::vector<float> integers = network.operators[1].target;
  for (float& value : integers) value = std::round(value / 0.05F);
  network.operators[1].reads = "cast";
  network.operators.insert(
      network.operators.begin() + 1,
      {{"q", "QuantizeLinear", "conv", {}, integers, {}}, {"cast", "Cast", "q", {}, integers, {}}});
  const auto compared = network.compared();
  Net net = net_with_quantizers(compared.run);
  Tensors tensors(&compared.session);
  look_at_quantizers(net, tensors, RunContext{});
  const Node& dequant = node_of(net, "d");
  ASSERT_TRUE(dequant.stands_for.has_value());
  EXPECT_EQ(compared.run.rows[*dequant.stands_for].golden->operator_name, "conv");
  EXPECT_FALSE(node_of(net, "cast").stands_for.has_value());
}

TEST(Quantizers, ARangeHasToHoldGoldensValues) {
  for (const bool is_too_small : {false, true}) {
    MadeNetwork network = network_of(0.05F, "FakeQuant");
    MadeOperator &conv = network.operators[0], &quantizer = network.operators[1];
    float most = 0;
    for (const float value : conv.golden) most = std::max(most, std::abs(value));
    if (is_too_small) most *= 0.4F;
    for (size_t i = 0; i < conv.target.size(); ++i) {
      if (!is_too_small) conv.target[i] *= 5;
      quantizer.target[i] = 0.05F * std::round(std::clamp(conv.target[i], -most, most) / 0.05F);
    }
    const auto compared = network.compared();
    Net net = net_with_quantizers(compared.run);
    Tensors tensors(&compared.session);
    look_at_quantizers(net, tensors, RunContext{});
    if (is_too_small) {
      EXPECT_GT(node_of(net, "d").own, 0.1);
    } else {
      EXPECT_LT(node_of(net, "d").own, 0.02);
    }
  }
}

TEST(Quantizers, IntegersAreNotGoldensNumbersYet) {
  const MadeNetwork network = network_of(0.05F, "QuantizeLinear");
  const auto compared = network.compared();
  Net net = net_with_quantizers(compared.run);
  Tensors tensors(&compared.session);
  look_at_quantizers(net, tensors, RunContext{});
  EXPECT_FALSE(node_of(net, "d").stands_for.has_value());
}

TEST(Quantizers, NothingIsKnownWithoutTensors) {
  const MadeNetwork network = network_of(0.05F, "FakeQuant");
  const auto compared = network.compared();
  Net net = net_with_quantizers(compared.run);
  Tensors none(nullptr);
  look_at_quantizers(net, none, RunContext{});
  EXPECT_FALSE(node_of(net, "d").stands_for.has_value());
}

}  // namespace
}  // namespace plumb::diagnose
