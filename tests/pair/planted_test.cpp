// SPDX-License-Identifier: Apache-2.0
#include "pair/planted.h"

#include <gtest/gtest.h>

#include "pair/matcher.h"
#include "pair/structure.h"

namespace plumb::match {
namespace {

using graph::Graph;
using graph::Operator;

struct Score {
  int64_t right = 0, wrong = 0, none = 0;
  double precision() const {
    return static_cast<double>(right) / static_cast<double>(right + wrong);
  }
  double recall() const {
    return static_cast<double>(right) / static_cast<double>(right + wrong + none);
  }
};

// Every output and every input of every operator of the converted graph.
Score score_of(const Graph& converted, const Planted& planted) {
  const pair::Matcher matcher(converted);
  Score score;
  const auto count = [&](const pair::Match& match, const std::string& tensor) {
    if (!match.golden)
      ++score.none;
    else if (fmt::format("{}:{}", match.golden->op, match.golden->output) ==
             planted.truth.at(tensor))
      ++score.right;
    else
      ++score.wrong;
  };
  for (const Operator& op : converted.operators) {
    if (op.type == "NetOutput") continue;
    for (int64_t k = 0; k < std::ssize(op.outputs); ++k)
      count(matcher.output(op, k), fmt::format("{}:{}", op.name, k));
    for (int64_t k = 0; k < std::ssize(op.inputs); ++k) {
      const auto& edge = op.inputs[static_cast<size_t>(k)];
      count(matcher.input(op, k), fmt::format("{}:{}", edge.producer, edge.output));
    }
  }
  return score;
}

TEST(Planted, WhatIsRecordedIsFound) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Planted planted = Planter(seed, 100, true).take();
    ASSERT_GE(planted.original.operators.size(), 100U);
    const Score score = score_of(planted.converted, planted);
    EXPECT_EQ(score.wrong, 0) << seed;
    EXPECT_EQ(score.none, 0) << seed;
    EXPECT_GT(score.right, 100) << seed;
  }
}

TEST(Planted, WhatIsNotRecordedIsToldByNamesAndStructure) {
  Score all;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Planted planted = Planter(seed, 100, false).take();
    pair::align_graphs(planted.converted, planted.original);
    const Score score = score_of(planted.converted, planted);
    EXPECT_GE(score.precision(), 0.99) << "seed " << seed << ": " << score.wrong << " wrong";
    EXPECT_GE(score.recall(), 0.95) << "seed " << seed << ": " << score.none << " not told";
    all.right += score.right;
    all.wrong += score.wrong;
    all.none += score.none;
  }
  RecordProperty("precision", fmt::format("{}", all.precision()));
  RecordProperty("recall", fmt::format("{}", all.recall()));
}

}  // namespace
}  // namespace plumb::match
