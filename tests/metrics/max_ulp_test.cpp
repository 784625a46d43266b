// SPDX-License-Identifier: Apache-2.0
#include "metrics/max_ulp.h"

#include <gtest/gtest.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

TEST(MaxUlp, AgreesWithListsOfAllValues) {
  const nlohmann::json table = read_json(PLUMB_TEST_DATA "/metrics/expected.json");
  for (const nlohmann::json& c : table["max_ulp"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const Tensor target = tensor_of(c["target"]), golden = tensor_of(c["golden"]);
    EXPECT_EQ(max_ulp(piece_of(target, golden)), c["max_ulp"].get<int64_t>());
    EXPECT_EQ(max_ulp(piece_of(golden, target)), c["max_ulp"].get<int64_t>());
  }
}

// The codes of hifloat8 are not in the order of their values; a neighbour is one step away anyway.
TEST(MaxUlp, HiFloat8StepsAreItsOwn) {
  std::vector<std::pair<float, uint8_t>> ordered;
  for (int code = 0; code < 256; ++code) {
    const float x = float_from_hifloat8(static_cast<uint8_t>(code));
    if (std::isfinite(x)) ordered.emplace_back(x, static_cast<uint8_t>(code));
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<uint8_t> low, high;
  for (size_t i = 1; i < ordered.size(); ++i) {
    low.push_back(ordered[i - 1].second);
    high.push_back(ordered[i].second);
  }
  const Tensor all_low = tensor_of(DType::kHiFloat8, low);
  const Tensor all_high = tensor_of(DType::kHiFloat8, high);
  EXPECT_EQ(max_ulp(piece_of(all_low, all_high)), 1);
  const Tensor first = tensor_of(DType::kHiFloat8, std::vector{low.front()});
  const Tensor last = tensor_of(DType::kHiFloat8, std::vector{high.back()});
  EXPECT_EQ(max_ulp(piece_of(first, last)), std::ssize(ordered) - 1);
}

// Pairs that cannot be the largest are passed over; one at a time, none is.
TEST(MaxUlp, ManyPairsAreAsFarApartAsTheFarthest) {
  for (const double error : {1e-9, 1e-5, 4e-4, 1e-3, 0.02, 3.0}) {
    Random random{static_cast<uint64_t>(1 / error)};
    std::vector<double> doubles;
    std::vector<uint16_t> halves, bfloats;
    std::vector<uint8_t> codes;
    for (int i = 0; i < 1000; ++i) {
      const double x = random.normal() * std::exp(5 * random.uniform());
      const auto y = static_cast<float>(x * (1 + error * random.uniform()));
      doubles.push_back(x);
      halves.push_back(half_from_float(y));
      bfloats.push_back(bfloat16_from_float(y));
      codes.push_back(static_cast<uint8_t>(random.state >> 33));
    }
    const Tensor target = tensor_of(DType::kFloat64, doubles);
    for (const Tensor& golden :
         {tensor_of(DType::kFloat16, halves), tensor_of(DType::kBFloat16, bfloats),
          tensor_of(DType::kFloat8E4M3Fn, codes), tensor_of(DType::kFloat8E5M2, codes),
          tensor_of(DType::kHiFloat8, codes)}) {
      PairPiece piece = piece_of(target, golden);
      const int64_t together = max_ulp(piece);
      int64_t alone = 0;
      for (int64_t i = 0; i < target.count(); ++i) {
        const PairPiece one{piece.target_dtype, piece.target + 8 * i, piece.golden_dtype,
                            piece.golden + i * bits_of(golden.dtype) / 8, 1};
        alone = std::max(alone, max_ulp(one));
      }
      EXPECT_EQ(together, alone) << name_of(golden.dtype) << " " << error;
    }
  }
}

TEST(MaxUlp, ComplexCountsByParts) {
  const Tensor target = tensor_of(DType::kComplex64, std::vector<float>{1, 2, 3, 4});
  const Tensor golden = tensor_of(DType::kComplex64, std::vector<float>{1, 2, 3, 4 + 0x1p-21f});
  EXPECT_EQ(target.count(), 2);
  EXPECT_EQ(max_ulp(piece_of(target, golden)), 1);
}

}  // namespace
}  // namespace plumb::metrics
