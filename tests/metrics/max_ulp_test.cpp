// SPDX-License-Identifier: Apache-2.0
#include "metrics/max_ulp.h"

#include <gtest/gtest.h>

#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

TEST(MaxUlp, AgreesWithListsOfAllValues) {
  const nlohmann::json table = read_json("expected.json");
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

TEST(MaxUlp, ComplexCountsByParts) {
  const Tensor target = tensor_of(DType::kComplex64, std::vector<float>{1, 2, 3, 4});
  const Tensor golden = tensor_of(DType::kComplex64, std::vector<float>{1, 2, 3, 4 + 0x1p-21f});
  EXPECT_EQ(target.count(), 2);
  EXPECT_EQ(max_ulp(piece_of(target, golden)), 1);
}

}  // namespace
}  // namespace plumb::metrics
