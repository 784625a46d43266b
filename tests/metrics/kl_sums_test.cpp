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
    const PairSums first = sums_of(target, golden);
    if (first.finite != first.count || !fits_float(target.dtype) || !fits_float(golden.dtype))
      continue;
    RoughKlSums rough(first);
    rough.add(piece_of(target, golden));
    EXPECT_NEAR(rough.divergence(), sums.divergence(), 1e-8 + 1e-7 * sums.divergence());
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

// Alike or not, of one size or of very different ones: the seventh decimal is right.
TEST(RoughKlSums, IsNearTheOther) {
  Random random{11};
  for (const double noise : {0.0, 1e-6, 5e-4, 0.01, 0.3, 3.0})
    for (const double size : {1.0, 1e-38, 1e-20, 1e20, 3e38})
      for (const bool has_zeros : {false, true}) {
        SCOPED_TRACE(testing::Message() << noise << " " << size << " " << has_zeros);
        std::vector<float> t, g;
        for (int i = 0; i < 20011; ++i) {
          const double value = random.uniform() * 0.5;
          const double other = value * (1 + noise * random.normal());
          const auto cut = [&](double v) {
            return static_cast<float>(size * (has_zeros && v < 0 ? 0 : v));
          };
          g.push_back(cut(value));
          t.push_back(cut(std::clamp(other, -1.0, 1.0)));
        }
        const Tensor target = tensor_of(DType::kFloat32, t), golden = tensor_of(DType::kFloat32, g);
        const PairSums first = sums_of(target, golden);
        KlSums exact(first);
        add(piece_of(target, golden), exact);
        RoughKlSums rough(first);
        rough.add(piece_of(target, golden));
        EXPECT_NEAR(rough.divergence(), exact.divergence(), 1e-8 + 1e-7 * exact.divergence());
      }
}

TEST(KlSums, NoPairDivergesByNothing) {
  KlSums sums{PairSums()};
  EXPECT_EQ(sums.divergence(), 0);
}

}  // namespace
}  // namespace plumb::metrics
