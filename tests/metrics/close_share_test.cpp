// SPDX-License-Identifier: Apache-2.0
//
// Against what numpy's isclose says of the same arrays, whole and in pieces.
#include "metrics/close_share.h"

#include <gtest/gtest.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

Closeness closeness_of(const PairPiece& whole, const Tolerance& tolerance, int64_t piece_size) {
  Closeness all{tolerance};
  for (int64_t first = 0; first < whole.count; first += piece_size) {
    PairPiece piece = whole;
    piece.count = std::min(piece_size, whole.count - first);
    piece.target += first * (bits_of(whole.target_dtype) / 8);
    piece.golden += first * (bits_of(whole.golden_dtype) / 8);
    Closeness part{tolerance};
    part.add(piece);
    all.append(part);
  }
  return all;
}

TEST(CloseShare, AgreesWithNumpy) {
  const auto cases = read_json(PLUMB_TEST_DATA "/metrics/close.json");
  ASSERT_GT(cases.size(), 20u);
  for (const auto& each : cases) {
    SCOPED_TRACE(each["name"].get<std::string>());
    const Tensor target = tensor_of(each["target"]), golden = tensor_of(each["golden"]);
    const PairPiece piece = piece_of(target, golden);
    const PairSums sums = pair_sums(piece, {});
    const Tolerance tolerance{each["atol"].get<double>(), each["rtol"].get<double>()};
    const int64_t expected = each["close"].get<int64_t>(), count = each["count"].get<int64_t>();
    for (const int64_t size : {int64_t{1}, int64_t{7}, int64_t{1000}, count}) {
      const Closeness closeness = closeness_of(piece, tolerance, size);
      EXPECT_EQ(closeness.off(sums), count - expected) << size;
      EXPECT_EQ(closeness.share(sums).number(),
                static_cast<double>(expected) / static_cast<double>(count));
    }
  }
}

// With the tolerance that it names, all finite values pass; with less they do not.
TEST(CloseShare, NamesTheLeastTolerance) {
  const Tensor target = tensor_of(DType::kFloat32, std::vector<float>{1.5F, -3, 8});
  const Tensor golden = tensor_of(DType::kFloat32, std::vector<float>{1, -2, 8});
  const PairPiece piece = piece_of(target, golden);
  const double least = closeness_of(piece, {0, 0.25}, 3).least_atol;
  EXPECT_EQ(least, 0.5);  // |-3 + 2| - 0.25 * 2
  EXPECT_EQ(closeness_of(piece, {least, 0.25}, 3).not_close, 0);
  EXPECT_EQ(closeness_of(piece, {0.499, 0.25}, 3).not_close, 1);
}

TEST(CloseShare, IsUndefinedWithoutATolerance) {
  PairFacts facts;
  EXPECT_FALSE(metric_by_name(kCloseShare)->finish(facts).is_defined());
  facts.sums.count = facts.sums.finite = facts.sums.equal = 3;
  EXPECT_FALSE(metric_by_name(kCloseShare)->finish(facts).is_defined());
  EXPECT_FALSE(metric_by_name(kCloseShare)->is_free());  // nor is it computed unasked
}

}  // namespace
}  // namespace plumb::metrics
