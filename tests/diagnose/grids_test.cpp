// SPDX-License-Identifier: Apache-2.0
//
// Quantized networks, as tensors in memory: what a grid costs, and whom it hides.
#include "diagnose/grids.h"

#include <cmath>

#include <gtest/gtest.h>

#include "diagnose/made_network.h"

namespace plumb::diagnose {
namespace {

// Rounded to so many steps between the ends of golden.
std::vector<float> on_grid(const std::vector<float>& values, int steps) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const float step = 2 * largest / static_cast<float>(steps);
  std::vector<float> rounded = values;
  for (float& value : rounded) value = step * std::round(value / step);
  return rounded;
}

// A chain of eight operators, each on 254 steps.
MadeNetwork quantized() {
  MadeNetwork network;
  for (uint32_t i = 0; i < 8; ++i) {
    const std::string name = "op" + std::to_string(i);
    network.add(name, "Conv2D", i == 0 ? "" : "op" + std::to_string(i - 1), made_numbers(i + 1));
    network.operators.back().target = on_grid(network.operators.back().golden, 254);
  }
  return network;
}

TEST(Grids, AFloatNetworkIsOnNone) {
  MadeNetwork network = quantized();
  for (MadeOperator& op : network.operators) op.target = op.golden;
  auto compared = network.compared();
  Net net = net_of(compared.run);
  Tensors tensors(&compared.session);
  EXPECT_FALSE(look_at_grids(net, tensors, RunContext{}));
  for (const Node& node : net.nodes) EXPECT_EQ(node.grain, 0);
}

TEST(Grids, GrainIsATwelfthOfTheSquaredStep) {
  MadeNetwork network = quantized();
  auto compared = network.compared();
  Net net = net_of(compared.run);
  Tensors tensors(&compared.session);
  ASSERT_TRUE(look_at_grids(net, tensors, RunContext{}));
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    const std::vector<float>& golden = network.operators[i].golden;
    double squares = 0, largest = 0;
    for (const float value : golden) {
      squares += double{value} * value;
      largest = std::max(largest, std::abs(double{value}));
    }
    const double step = 2 * largest / 254;
    EXPECT_NEAR(net.nodes[i].grain,
                step / std::sqrt(12 * squares / static_cast<double>(golden.size())),
                1e-3 * net.nodes[i].grain);
  }
}

TEST(Grids, FewerBitsThanTheOthersHaveAreNoExcuse) {
  MadeNetwork network = quantized();
  network.operators[3].target = on_grid(network.operators[3].golden, 14);
  auto compared = network.compared();
  Net net = net_of(compared.run);
  Tensors tensors(&compared.session);
  ASSERT_TRUE(look_at_grids(net, tensors, RunContext{}));
  EXPECT_EQ(net.nodes[3].grain, 0);
  EXPECT_GT(net.nodes[4].grain, 0);
}

TEST(Grids, OneLargeChannelHidesWhatTheOthersLose) {
  MadeNetwork network = quantized();
  MadeOperator& op = network.operators[5];
  const size_t plane = kMadeElements / kMadeChannels;
  for (size_t i = 2 * plane; i < 3 * plane; ++i) op.golden[i] *= 40;
  op.target = on_grid(op.golden, 254);
  auto compared = network.compared();
  Net net = net_of(compared.run);
  Tensors tensors(&compared.session);
  ASSERT_TRUE(look_at_grids(net, tensors, RunContext{}));
  EXPECT_GT(net.nodes[5].hidden, 5 * net.nodes[5].out.relative);
  EXPECT_EQ(net.nodes[4].hidden, 0);
}

// What the small channels were handed is not lost by the grid.
TEST(Grids, AnInheritedErrorIsNotHidden) {
  MadeNetwork network = quantized();
  MadeOperator& op = network.operators[5];
  const size_t plane = kMadeElements / kMadeChannels;
  for (size_t i = 2 * plane; i < 3 * plane; ++i) op.golden[i] *= 10;
  std::vector<float> handed = op.golden;
  const std::vector<float> noise = made_numbers(77, 0.3);
  for (size_t i = 0; i < handed.size(); ++i) handed[i] += noise[i];
  op.target = on_grid(handed, 254);
  auto compared = network.compared();
  Net net = net_of(compared.run);
  Tensors tensors(&compared.session);
  ASSERT_TRUE(look_at_grids(net, tensors, RunContext{}));
  EXPECT_GT(net.nodes[5].hidden, 0.01);
  EXPECT_LT(net.nodes[5].hidden, 0.12);
}

TEST(Grids, Float16LosesDigitsOfSmallNumbersOnly) {
  // The numbers of float16 below 2^-14 are multiples of 2^-24.
  const double unit = std::ldexp(1.0, -24);
  struct Case {
    const char* what;
    std::vector<double> golden, target;
    double grain;
  };
  const Case cases[] = {
      {"empty", {}, {}, 0},
      {"zeros", {0, 0}, {0, 0}, 0},
      {"large enough", {1.0001, 0.3}, {1, 0.3000488281250}, 0},
      {"small",
       {2.5 * unit, 100 * unit},
       {2 * unit, 100 * unit},
       0.5 / std::sqrt(2.5 * 2.5 + 100 * 100)},
      {"gone", {0.25 * unit}, {0}, 1},
      {"small beside large", {1, 2.5 * unit}, {1, 2 * unit}, 0.5 * unit},
      {"no float16", {2.5 * unit}, {2.25 * unit}, 0},
  };
  for (const Case& each : cases) {
    compare::PairValues values;
    values.golden = each.golden;
    values.target = each.target;
    EXPECT_NEAR(float16_grain(values), each.grain, 1e-6 * each.grain) << each.what;
  }
}

}  // namespace
}  // namespace plumb::diagnose
