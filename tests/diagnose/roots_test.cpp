// SPDX-License-Identifier: Apache-2.0
//
// Who introduced an error: networks given by their errors alone.
#include "diagnose/roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/made_errors.h"

namespace plumb::diagnose {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> root_names(const result::Run& run) {
  const Net net = net_of(run);
  std::vector<std::string> found;
  for (const Root& root : find_roots(net).roots)
    found.emplace_back(net.nodes[static_cast<size_t>(root.node)].name);
  return found;
}

struct RootsCase {
  std::string name;
  std::vector<Op> operators;
  std::vector<std::string> roots;
};

const RootsCase kRootsCases[] = {
    {"nothing", {}, {}},
    {"all agree", {{"a", {}, 0}, {"b", {"a"}, 1e-7}}, {}},
    {"one step",
     {{"a", {}, 1e-7}, {"b", {"a"}, 0.2}, {"c", {"b"}, 0.21}, {"d", {"c"}, 0.18}},
     {"b"}},
    {"the first operator", {{"a", {}, 0.3}, {"b", {"a"}, 0.31}, {"c", {"b"}, 0.3}}, {"a"}},
    {"the last operator", {{"a", {}, 1e-7}, {"b", {"a"}, 1e-7}, {"c", {"b"}, 0.4}}, {"c"}},
    // A difference of large numbers shows an error that was there before.
    {"made visible later",
     {{"a", {}, 1e-7}, {"b", {"a"}, 1.4e-3}, {"c", {"b"}, 0.05}, {"d", {"c"}, 0.05}},
     {"b", "c"}},
    {"two branches",
     {{"x", {}, 1e-7}, {"a", {"x"}, 0.3}, {"b", {"x"}, 0.02}, {"c", {"a", "b"}, 0.2}},
     {"a", "b"}},
    {"an input of the model",
     {{"x", {}, 0.1, "Data"}, {"a", {"x"}, 0.1}, {"b", {"a"}, 0.11}},
     {"x"}},
};

TEST(FindRoots, Table) {
  for (const RootsCase& each : kRootsCases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(root_names(run_of(each.operators)), each.roots);
  }
}

// A constant that a conversion left behind, and one that somebody reads.
TEST(FindRoots, WhatNobodyReadsDoesNoHarm) {
  const Op left{"old", {}, 0.9, "Constant"}, used{"w", {}, 0.9, "Constant"};
  EXPECT_THAT(root_names(run_of({{"a", {}, 1e-7}, left, {"b", {"a"}, 1e-7}})), IsEmpty());
  EXPECT_THAT(root_names(run_of({{"a", {}, 1e-7}, used, {"b", {"a", "w"}, 0.9}})),
              ElementsAre("w"));
}

// Weights on 8 bits cost a product that much; without them it is its own fault.
TEST(FindRoots, WeightsOnEightBitsCostAProductSomething) {
  for (const bool is_quantized : {true, false}) {
    result::Run run = run_of({{"x", {}, 1e-7, "Data"},
                              {"weight", {}, 0, is_quantized ? "DequantizeLinear" : "Constant"},
                              {"a", {"x", "weight"}, 0.009},
                              {"b", {"a"}, 0.009, "Relu"},
                              {"c", {"b"}, 0.009, "Relu"}});
    if (is_quantized)
      EXPECT_THAT(root_names(run), IsEmpty());
    else
      EXPECT_THAT(root_names(run), ElementsAre("a"));
  }
}

// The order of the list is no order of execution: edges decide.
TEST(FindRoots, OrderOfTheListDecidesNothing) {
  const result::Run run =
      run_of({{"d", {"c"}, 0.18}, {"c", {"b"}, 0.21}, {"b", {"a"}, 0.2}, {"a", {}, 1e-7}});
  EXPECT_THAT(root_names(run), ElementsAre("b"));
}

TEST(FindRoots, WithoutEdgesTheOrderOfExecutionHasToDo) {
  result::Run run =
      run_of({{"a", {}, 1e-7}, {"b", {}, 0.2}, {"c", {}, 1e-7}, {"d", {}, 0.2}}, false);
  EXPECT_THAT(root_names(run), ElementsAre("b"));
  run.is_ordered = false;
  EXPECT_THAT(root_names(run), IsEmpty());
}

// What ran first, and nothing says that it is an operator, is what the model was fed.
TEST(FindRoots, WithoutAGraphTheFirstTensorIsAnInput) {
  result::Run run = run_of({{"x", {}, 0.1, ""}, {"a", {}, 0.1, ""}, {"b", {}, 0.1, ""}}, false);
  EXPECT_TRUE(net_of(run).nodes[0].is_source);
  EXPECT_THAT(root_names(run), ElementsAre("x"));
  run.rows[0].target->type = "Conv";
  EXPECT_FALSE(net_of(run).nodes[0].is_source);
}

// Where nothing else adds any error, large steps are no noise of the network.
TEST(FindRoots, AFewStepsAreNotWhatIsNormal) {
  std::vector<Op> operators{{"x", {}, 0}};
  for (int i = 0; i < 6; ++i) operators.push_back({"same" + std::to_string(i), {"x"}, 0});
  operators.push_back({"a", {"x"}, 0.4});
  operators.push_back({"b", {"a"}, 6});  // makes it larger
  operators.push_back({"c", {"b"}, 30});
  EXPECT_THAT(root_names(run_of(operators)), ElementsAre("a", "b", "c"));
}

// Products round their operands to eleven bits, everything else is exact.
TEST(FindRoots, Tf32IsKnownByItsProducts) {
  std::vector<Op> operators{{"x", {}, 0, "Data"}};
  double error = 0;
  std::string before = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string conv = "conv" + std::to_string(i), relu = "relu" + std::to_string(i);
    error = std::hypot(error, 3e-4);
    operators.push_back({conv, {before}, error});
    operators.push_back({relu, {conv}, error, "Relu"});
    before = relu;
  }
  EXPECT_THAT(root_names(run_of(operators)), IsEmpty());
  operators[7].error = 0.02;  // conv3
  for (size_t i = 8; i < operators.size(); ++i) operators[i].error = 0.02;
  EXPECT_THAT(root_names(run_of(operators)), ElementsAre("conv3"));
}

// Every operator adds as much as the first.
TEST(FindRoots, AccumulatedErrorBlamesNobody) {
  for (const int length : {8, 20, 100}) {
    SCOPED_TRACE(length);
    std::vector<Op> operators{{"op0", {}, 0.01}};
    for (int i = 1; i < length; ++i)
      operators.push_back({"op" + std::to_string(i),
                           {"op" + std::to_string(i - 1)},
                           0.01 * std::sqrt(1.0 + i) * (i % 2 == 0 ? 1.06 : 0.95)});
    const result::Run run = run_of(operators, true, "float16");
    const Net net = net_of(run);
    const Roots roots = find_roots(net);
    EXPECT_THAT(roots.roots, IsEmpty());
    EXPECT_TRUE(roots.is_accumulated);
    EXPECT_GT(roots.last, roots.first);
  }
}

// ... while behind a fault errors stay, whatever gains there are.
TEST(FindRoots, AFaultOfTheFirstOperatorIsNoAccumulation) {
  std::vector<Op> operators{{"op0", {}, 0.01}};
  for (int i = 1; i < 20; ++i)
    operators.push_back({"op" + std::to_string(i),
                         {"op" + std::to_string(i - 1)},
                         0.01 * (i % 3 == 0   ? 1.25
                                 : i % 3 == 1 ? 0.9
                                              : 1.05)});
  EXPECT_THAT(root_names(run_of(operators, true, "float16")), ElementsAre("op0"));
}

// ... nor that of one behind many that are exact to the bit, though it looks as products' rounding
// does, and its consequences as growth.
TEST(FindRoots, AFaultBehindExactOperatorsIsNoAccumulation) {
  std::vector<Op> operators{{"op0", {}, 0}};
  for (int i = 1; i < 20; ++i)
    operators.push_back({"op" + std::to_string(i),
                         {"op" + std::to_string(i - 1)},
                         i < 8 ? 0 : 2e-4 * std::sqrt(i - 7.0)});
  EXPECT_THAT(root_names(run_of(operators)), ElementsAre("op8"));
}

// What one large channel hides counts where somebody behind it shows it, who adds nothing himself.
TEST(FindRoots, WhatAChannelHidesComesToLight) {
  const result::Run run =
      run_of({{"a", {}, 5e-3}, {"b", {"a"}, 5e-3}, {"c", {"b"}, 5e-3, "Mul"}, {"d", {"c"}, 5e-3}});
  for (const bool is_shown : {true, false}) {
    SCOPED_TRACE(is_shown);
    Net net = net_of(run);
    for (Node& node : net.nodes) node.own = node.grain = 3e-3;
    net.nodes[1].hidden = 0.05;
    if (is_shown) net.nodes[2].out.relative = 0.05;
    const Roots roots = find_roots(net);
    ASSERT_EQ(roots.roots.size(), is_shown ? 1U : 0U);
    if (!is_shown) continue;
    EXPECT_EQ(net.nodes[static_cast<size_t>(roots.roots[0].node)].name, "b");
    EXPECT_TRUE(roots.roots[0].is_hidden);
  }
}

TEST(FindRoots, MeasuredErrorsBeatSteps) {
  result::Run run =
      run_of({{"a", {}, 2e-3}, {"b", {"a"}, 3e-3}, {"c", {"b"}, 4e-3}, {"d", {"c"}, 4e-3}});
  const double own[] = {1e-3, 1e-3, 9e-3, 1e-3};
  for (size_t i = 0; i < 4; ++i) run.rows[i].own_error = {own[i], 1e-3, true};
  EXPECT_THAT(root_names(run), ElementsAre("c"));
  run.rows[2].own_error->value = 2e-3;  // below four times the usual one
  EXPECT_THAT(root_names(run), IsEmpty());
}

// Golden is all zeros there: any error is infinitely many times as large, and tells nothing.
TEST(FindRoots, AnInfiniteOwnErrorOfFiniteValuesTellsNothing) {
  result::Run run = run_of({{"a", {}, 2e-3}, {"b", {"a"}, 2e-3}, {"c", {"b"}, 2e-3}});
  for (size_t i = 0; i < 3; ++i)
    run.rows[i].own_error = {i == 1 ? std::numeric_limits<double>::infinity() : 1e-3, 1e-3, true};
  EXPECT_THAT(root_names(run), IsEmpty());
}

TEST(FindRoots, ConsequencesAreGroupedUnderTheirRoot) {
  const result::Run run = run_of({{"x", {}, 1e-7},
                                  {"a", {"x"}, 0.3},
                                  {"b", {"a"}, 0.3},
                                  {"c", {"x"}, 1e-7},
                                  {"d", {"b", "c"}, 0.2}});
  const Net net = net_of(run);
  const Roots roots = find_roots(net);
  ASSERT_EQ(roots.roots.size(), 1U);
  EXPECT_THAT(roots.roots[0].consequences, ElementsAre(2, 4));
}

// A circle, as loops make, ends.
TEST(FindRoots, Circles) {
  const result::Run run = run_of({{"a", {"c"}, 0.2}, {"b", {"a"}, 0.2}, {"c", {"b"}, 0.2}});
  find_roots(net_of(run));
}

// Forty operators on 8 bits that were replayed: rounding hits a tenth of them three times harder.
TEST(Roots, TheTailOfRoundingIsNormalOnEightBits) {
  const auto accused = [](double worst) {
    std::vector<Op> operators;
    for (int i = 0; i < 40; ++i)
      operators.push_back({"op" + std::to_string(i),
                           i == 0 ? std::vector<std::string>{}
                                  : std::vector<std::string>{"op" + std::to_string(i - 1)},
                           0.1});
    result::Run run = run_of(operators);
    for (size_t i = 0; i < run.rows.size(); ++i)
      run.rows[i].own_error = {i == 20 ? worst : i % 4 == 0 ? 0.03 : 0.01, 0.09, true};
    return root_names(run);
  };
  EXPECT_THAT(accused(0.055), IsEmpty());
  EXPECT_THAT(accused(0.09), ElementsAre("op20"));
}

}  // namespace
}  // namespace plumb::diagnose
