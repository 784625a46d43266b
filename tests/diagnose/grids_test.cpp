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

}  // namespace
}  // namespace plumb::diagnose
