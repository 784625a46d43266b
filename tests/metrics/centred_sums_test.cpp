// SPDX-License-Identifier: Apache-2.0
#include "metrics/centred_sums.h"

#include <gtest/gtest.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

TEST(CentredSums, WantedWhereThePlainSumsCancel) {
  const struct {
    const char* name;
    std::vector<double> target, golden;
    bool wanted;
  } cases[] = {
      {"empty", {}, {}, false},
      {"one element", {5}, {6}, false},
      {"constant", {5, 5, 5}, {7, 7, 7}, false},
      {"around zero", {-1, 2, 3}, {1, -2, 3}, false},
      {"positive", {1, 2, 3}, {1, 2, 3}, false},
      {"target far from zero", {100, 101, 102}, {1, 2, 3}, true},
      {"golden far from zero", {1, 2, 3}, {-100, -101, -102}, true},
      {"constant beside far from zero", {100, 100}, {100, 101}, true},
      {"at the limits", {1e308, 1.01e308}, {1e308, 1.01e308}, true},
  };
  for (const auto& c : cases)
    EXPECT_EQ(needs_centring(sums_of(c.target, c.golden)), c.wanted) << c.name;
}

TEST(CentredSums, PiecesAddUpAndNonFiniteOnesAreLeftOut) {
  Random random{5};
  std::vector<double> t, g;
  for (int i = 0; i < 3000; ++i) {
    t.push_back(1e6 + random.normal());
    g.push_back(1e6 + random.normal());
  }
  t[17] = NAN;
  g[1900] = INFINITY;
  const Tensor target = tensor_of(DType::kFloat64, t), golden = tensor_of(DType::kFloat64, g);
  const PairSums first = sums_of(target, golden);
  ASSERT_EQ(first.finite, 2998);
  CentredSums whole(first), front(first), back(first);
  PairPiece piece = piece_of(target, golden);
  add(piece, whole);
  piece.count = 1025;
  add(piece, front);
  piece.target += 8 * 1025;
  piece.golden += 8 * 1025;
  piece.count = 3000 - 1025;
  add(piece, back);
  front.append(back);
  EXPECT_NEAR(front.tt, whole.tt, 1e-12 * whole.tt);
  EXPECT_NEAR(front.gg, whole.gg, 1e-12 * whole.gg);
  EXPECT_NEAR(front.tg, whole.tg, 1e-12 * whole.tt);
  EXPECT_NEAR(front.t_sum, whole.t_sum, 1e-9);
  // Unit variance, give or take four of its own deviations.
  EXPECT_NEAR(whole.tt / 2998, 1, 0.1);
}

}  // namespace
}  // namespace plumb::metrics
