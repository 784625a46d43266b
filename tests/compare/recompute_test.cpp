// SPDX-License-Identifier: Apache-2.0
#include "compare/recompute.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace plumb::compare {
namespace {

using Function = std::function<double(double)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double hard_sigmoid(double x) { return std::min(1.0, std::max(0.0, 0.2 * x + 0.5)); }

std::vector<double> each_of(const Function& function, const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values) result.push_back(function(value));
  return result;
}

ReadValues side(std::vector<double> given, std::vector<double> input, Shape shape,
                DType dtype = DType::kFloat32) {
  return {std::move(given), shape, dtype, {{std::move(input), shape, dtype}}};
}

const std::vector<double> kScores = {-21.5, -12, -3, -0.25, 0, 0.5, 4, 135};
const Shape kShape = {2, 4};

TEST(Recompute, WhatTheFunctionGivesAndNothingElse) {
  const struct {
    const char* name;
    Made made;
    Function function;
    bool is_it;
  } cases[] = {
      {"a sigmoid", Made::kSigmoid, sigmoid, true},
      {"in float32", Made::kSigmoid, [](double x) { return static_cast<float>(sigmoid(x)); }, true},
      {"beside 1", Made::kSigmoid, [](double x) { return sigmoid(x) + 0x1p-23; }, true},
      {"scaled", Made::kSigmoid, [](double x) { return 0.9 * sigmoid(x); }, false},
      {"shifted", Made::kSigmoid, [](double x) { return sigmoid(x) + 1e-5; }, false},
      {"steeper", Made::kSigmoid, [](double x) { return sigmoid(1.01 * x); }, false},
      {"hard", Made::kSigmoid, hard_sigmoid, false},
      {"lost", Made::kSigmoid, [](double x) { return x == 4 ? 0 : sigmoid(x); }, false},
      {"no number", Made::kSigmoid, [](double) { return std::nan(""); }, false},
      {"a hard one", Made::kHardSigmoid, hard_sigmoid, true},
      {"a flatter one", Made::kHardSigmoid,
       [](double x) { return std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, true},
      {"a soft one", Made::kHardSigmoid, sigmoid, false},
      {"rectified", Made::kRectified, [](double x) { return std::max(x, 0.0); }, true},
      {"leaky", Made::kRectified, [](double x) { return std::max(x, 0.01 * x); }, false},
      {"no softmax", Made::kSoftmax, sigmoid, false},
  };
  for (const auto& one : cases) {
    const ReadValues wrong = side(each_of(one.function, kScores), kScores, kShape);
    EXPECT_EQ(recompute(one.made, wrong, wrong).has_value(), one.is_it) << one.name;
    if (one.is_it) continue;
    const ReadValues right = side(each_of(sigmoid, kScores), kScores, kShape);
    EXPECT_FALSE(recompute(one.made, wrong, right)) << one.name;
    EXPECT_FALSE(recompute(one.made, right, wrong)) << one.name;
  }
}

TEST(Recompute, ValuesMayHaveBeenRoundedWhenTheyWereStored) {
  const std::vector<double> exact = {-10, 1}, stored = {-10.004, 1.0004};
  const std::vector<double> given = each_of(sigmoid, exact);
  const auto found = [&](DType dtype) {
    const ReadValues values = side(given, stored, {2}, dtype);
    return recompute(Made::kSigmoid, values, values).has_value();
  };
  EXPECT_TRUE(found(DType::kFloat16));
  EXPECT_FALSE(found(DType::kFloat32));
}

std::vector<double> softmax(const std::vector<double>& x, int64_t outer, int64_t size,
                            int64_t inner) {
  std::vector<double> result(x.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < size; ++k) sum += std::exp(x[(o * size + k) * inner + i]);
      for (int64_t k = 0; k < size; ++k)
        result[(o * size + k) * inner + i] = std::exp(x[(o * size + k) * inner + i]) / sum;
    }
  return result;
}

TEST(Recompute, SoftmaxAlongAnyAxis) {
  const Shape shape = {2, 3, 2};
  const std::vector<double> x = {1, 2, 5, 3, 0, 4, -1, 2, 7, 7.5, 3, 1};
  const struct {
    const char* name;
    int64_t outer, size, inner;
    bool is_it;
  } cases[] = {{"last", 6, 2, 1, true},  {"middle", 2, 3, 2, true},
               {"first", 1, 2, 6, true}, {"all from one on", 2, 6, 1, true},
               {"all", 1, 12, 1, true},  {"over what is no axis", 3, 4, 1, false}};
  for (const auto& one : cases) {
    const ReadValues values = side(softmax(x, one.outer, one.size, one.inner), x, shape);
    EXPECT_EQ(recompute(Made::kSoftmax, values, values).has_value(), one.is_it) << one.name;
  }
  // Each side by itself is one, but not of the same axis.
  EXPECT_FALSE(recompute(Made::kSoftmax, side(softmax(x, 6, 2, 1), x, shape),
                         side(softmax(x, 2, 3, 2), x, shape)));
}

TEST(Recompute, AnotherDecisionIsTold) {
  std::vector<double> x = {1, 2.01, 2, 0};
  const ReadValues golden = side(softmax(x, 1, 4, 1), x, {1, 4});
  std::swap(x[1], x[2]);
  const ReadValues target = side(softmax(x, 1, 4, 1), x, {1, 4});
  EXPECT_FALSE(recompute(Made::kSoftmax, golden, golden)->changes_decision);
  EXPECT_TRUE(recompute(Made::kSoftmax, target, golden)->changes_decision);
  // One of ten shares above one half that is below it on the other side decides something, one of a
  // hundred does not, however large the background is.
  for (const size_t count : {10, 100}) {
    std::vector<double> below(2000, -3.0);
    std::fill_n(below.begin(), count, 3.0);
    std::vector<double> above = below;
    below[4] = -0.1, above[4] = 0.1;
    const auto found = recompute(Made::kSigmoid, side(each_of(sigmoid, above), above, {2000}),
                                 side(each_of(sigmoid, below), below, {2000}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->changes_decision, count == 10) << count;
  }
}

TEST(Recompute, ASlopeIsThatOfBothSides) {
  const std::vector<double> x = {-4, -1, -0.3, 0, 0.2, 1, 2.2, 5};
  const auto hard = [&](double slope) {
    return side(each_of([&](double v) { return std::clamp(slope * v + 0.5, 0.0, 1.0); }, x), x,
                {8});
  };
  EXPECT_TRUE(recompute(Made::kHardSigmoid, hard(0.2), hard(0.2)));
  EXPECT_TRUE(recompute(Made::kHardSigmoid, hard(1.0 / 6), hard(1.0 / 6)));
  EXPECT_FALSE(recompute(Made::kHardSigmoid, hard(0.2), hard(1.0 / 6)));
}

TEST(Recompute, ProductsRepeatAFactor) {
  const ReadValues::Input x{{1, 2, 3, 4, 5, 6}, {1, 3, 2}, DType::kFloat32},
      gate{{0.5, 0.001, 1}, {1, 3, 1}, DType::kFloat32};
  const Shape shape = {1, 3, 2};
  const std::vector<double> y = {0.5, 1, 0.003, 0.004, 5, 6};
  const ReadValues right{y, shape, DType::kFloat32, {x, gate}};
  const ReadValues turned{y, shape, DType::kFloat32, {gate, x}};
  EXPECT_TRUE(recompute(Made::kProduct, right, turned));
  for (size_t i = 0; i < y.size(); ++i) {
    ReadValues wrong = right;
    wrong.given[i] *= 1.001;
    EXPECT_FALSE(recompute(Made::kProduct, wrong, right)) << i;
  }
  ReadValues odd = right;
  odd.inputs[1].shape = {3};
  EXPECT_FALSE(recompute(Made::kProduct, odd, odd));
  odd.inputs[1].shape = {1, 2, 1};
  EXPECT_FALSE(recompute(Made::kProduct, odd, odd));
}

TEST(Recompute, NothingIsNothing) {
  for (const Made made : {Made::kSigmoid, Made::kHardSigmoid, Made::kSoftmax, Made::kProduct}) {
    const ReadValues empty{{}, {0}, DType::kFloat32, {{{}, {0}, DType::kFloat32}}};
    EXPECT_FALSE(recompute(made, empty, empty));
  }
}

}  // namespace
}  // namespace plumb::compare
