// SPDX-License-Identifier: Apache-2.0
#include "metrics/kl_sums.h"

#include <gtest/gtest.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

// What msaccucmp printed with six decimals, computed in float32.
TEST(KlSums, AgreesWithMsaccucmp) {
  const nlohmann::json table = read_json(PLUMB_TEST_DATA "/metrics/kl_vectors.json");
  for (const nlohmann::json& c : table["vectors"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Tensor target = tensor_of(c["target"]), golden = tensor_of(c["golden"]);
    KlSums sums(sums_of(target, golden));
    add(piece_of(target, golden), sums);
    const double expected = c["kl"];
    EXPECT_NEAR(sums.divergence(), expected, 2e-6 + 5e-6 * expected);
  }
}

TEST(KlSums, PiecesAddUp) {
  Random random{3};
  std::vector<float> t, g;
  for (int i = 0; i < 5000; ++i) {
    t.push_back(static_cast<float>(random.normal()));
    g.push_back(t.back() + static_cast<float>(0.1 * random.normal()));
  }
  const Tensor target = tensor_of(DType::kFloat32, t), golden = tensor_of(DType::kFloat32, g);
  const PairSums first = sums_of(target, golden);
  KlSums whole(first), front(first), back(first);
  PairPiece piece = piece_of(target, golden);
  add(piece, whole);
  piece.count = 1234;
  add(piece, front);
  piece.target += 4 * 1234;
  piece.golden += 4 * 1234;
  piece.count = 5000 - 1234;
  add(piece, back);
  front.append(back);
  EXPECT_NEAR(front.divergence(), whole.divergence(), 1e-12 * whole.divergence());
  EXPECT_GT(whole.divergence(), 0);
}

TEST(KlSums, NoPairDivergesByNothing) {
  KlSums sums{PairSums()};
  EXPECT_EQ(sums.divergence(), 0);
}

}  // namespace
}  // namespace plumb::metrics
