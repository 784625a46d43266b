// SPDX-License-Identifier: Apache-2.0
//
// An activation that treats negative values otherwise, with and without what it reads.
#include "diagnose/negative_slope.h"

#include <gtest/gtest.h>

#include "diagnose/explain.h"
#include "diagnose/made_network.h"

namespace plumb::diagnose {
namespace {

using SlopeNumbers = std::vector<double>;

SlopeNumbers with_slope(const SlopeNumbers& x, double slope) {
  SlopeNumbers y = x;
  for (double& value : y) value = value < 0 ? slope * value : value;
  return y;
}

SlopeNumbers slope_inputs() {
  const std::vector<float> values = made_numbers(3);
  return {values.begin(), values.end()};
}

compare::PairValues slope_pair(SlopeNumbers golden, SlopeNumbers target) {
  compare::PairValues values;
  values.golden_shape = values.target_shape = {std::ssize(golden)};
  values.golden = std::move(golden);
  values.target = std::move(target);
  return values;
}

struct SlopeCase {
  const char* name;
  double golden, target;
  const char* type;
  const char* with_input;  // detail, empty if nothing is to be said
  const char* without;
};

constexpr SlopeCase kSlopeCases[] = {
    {"Relu is gone", 0, 1, "Relu", "missing:Relu", "missing:Relu"},
    {"Relu leaks", 0, 0.01, "Relu", "attribute:alpha", "attribute:alpha"},
    {"Relu leaks much", 0, 0.2, "Relu", "attribute:alpha", "attribute:alpha"},
    {"another alpha", 0.1, 0.01, "LeakyRelu", "attribute:alpha", "attribute:alpha"},
    {"a negative alpha", 0.1, -0.1, "LeakyRelu", "attribute:alpha", "attribute:alpha"},
    {"leak became Relu", 0.1, 0, "LeakyRelu", "attribute:alpha", "attribute:alpha"},
    {"leak is gone", 0.1, 1, "LeakyRelu", "missing:LeakyRelu", "attribute:alpha"},
    {"no activation, cut at zero", 1, 0, "Conv2D", "", ""},
    {"the same", 0.1, 0.1, "LeakyRelu", "", ""},
    {"nothing below zero differs", 0, 0, "Relu", "", ""},
};

TEST(NegativeSlope, Cases) {
  const SlopeNumbers x = slope_inputs();
  const auto input = slope_pair(x, x);
  for (const SlopeCase& each : kSlopeCases) {
    const auto output = slope_pair(with_slope(x, each.golden), with_slope(x, each.target));
    const auto seen = other_negative_slope(output, &input, each.type, 1e-6);
    EXPECT_EQ(seen ? seen->detail : "", each.with_input) << each.name;
    const auto guessed = other_negative_slope(output, nullptr, each.type, 1e-6);
    EXPECT_EQ(guessed ? guessed->detail : "", each.without) << each.name;
  }
}

// What else differs is not explained by a slope.
TEST(NegativeSlope, AnotherFunctionIsNone) {
  const SlopeNumbers x = slope_inputs();
  const auto input = slope_pair(x, x);
  SlopeNumbers silu = x, noisy = with_slope(x, 0.2);
  for (double& value : silu) value = value / (1 + std::exp(-value));
  const std::vector<float> noise = made_numbers(9, 0.2);
  for (size_t i = 0; i < noisy.size(); ++i) noisy[i] += static_cast<double>(noise[i]);
  EXPECT_FALSE(other_negative_slope(slope_pair(with_slope(x, 0), silu), &input, "Relu", 1e-6));
  EXPECT_FALSE(other_negative_slope(slope_pair(with_slope(x, 0), noisy), &input, "Relu", 1e-6));
  SlopeNumbers shorter = x;
  shorter.pop_back();
  EXPECT_FALSE(other_negative_slope(slope_pair(with_slope(x, 0), shorter), &input, "Relu", 1e-6));
  SlopeNumbers infinite = x;
  infinite[3] = INFINITY;
  EXPECT_FALSE(other_negative_slope(slope_pair(with_slope(x, 0), infinite), &input, "Relu", 1e-6));
  EXPECT_FALSE(other_negative_slope(slope_pair({}, {}), nullptr, "Relu", 1e-6));
}

std::vector<float> leaky_floats(const std::vector<float>& x, float slope) {
  std::vector<float> y = x;
  for (float& value : y) value = value < 0 ? slope * value : value;
  return y;
}

TEST(NegativeSlope, IsFoundInANetwork) {
  const std::vector<float> data = made_numbers(1), conv = made_numbers(2);
  for (const bool is_fused : {false, true}) {
    MadeNetwork made;
    made.operators = {{"data", "Data", "", data, data, {}},
                      {"conv", "Conv2D", "data", conv, conv, {}},
                      {"act",
                       is_fused ? "Conv2D" : "LeakyRelu",
                       "conv",
                       leaky_floats(conv, 0.1F),
                       leaky_floats(conv, 0.25F),
                       {}}};
    if (is_fused) made.operators[2].origins = {"act", "other"};
    auto [session, run] = made.compared();
    explain(run, Tensors(&session), RunContext{});
    ASSERT_FALSE(run.findings.empty());
    const result::Finding& finding = run.findings.front();
    EXPECT_EQ(finding.operator_name, "act");
    EXPECT_EQ(finding.cause, is_fused ? "fusion" : "operator");
    EXPECT_EQ(finding.detail, "attribute:alpha");
  }
}

}  // namespace
}  // namespace plumb::diagnose
