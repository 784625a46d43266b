// SPDX-License-Identifier: Apache-2.0
#include "metrics/type_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "metrics/non_finite_testing.h"
#include "metrics/sums_of.h"

namespace plumb::metrics {
namespace {

// Of the small types by looking at every value they have.
TEST(Limits, AreTheLargestAndSmallestFiniteValue) {
  for (const DTypeInfo& type : dtypes()) {
    const auto limits = limits_of(type.dtype);
    if (!limits || type.bits > 16 || type.unpacked != type.dtype) continue;
    SCOPED_TRACE(type.name);
    double low = kInf, high = -kInf;
    for (uint32_t code = 0; code < (1u << type.bits); ++code) {
      const std::byte bytes[] = {static_cast<std::byte>(code & 255),
                                 static_cast<std::byte>(code >> 8)};
      double value = 0;
      decode_double(type.dtype, bytes, 1, &value);
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    EXPECT_EQ(limits->low, low);
    EXPECT_EQ(limits->high, high);
  }
}

TEST(Limits, OfTheOtherTypes) {
  EXPECT_EQ(limits_of(DType::kInt4)->low, -8);
  EXPECT_EQ(limits_of(DType::kInt4)->high, 7);
  EXPECT_EQ(limits_of(DType::kFloat32)->high, 0x1.fffffep127);
  EXPECT_EQ(limits_of(DType::kFloat64)->high, 0x1.fffffffffffffp1023);
  EXPECT_EQ(limits_of(DType::kComplex64)->high, 0x1.fffffep127);
  for (const DType dtype : {DType::kBool, DType::kUint1, DType::kInt32, DType::kUint32,
                            DType::kInt64, DType::kUint64, DType::kOpaque})
    EXPECT_FALSE(limits_of(dtype)) << name_of(dtype);
}

TEST(Limits, CountsThePartsOfComplexNumbers) {
  const auto inf = std::numeric_limits<float>::infinity();
  const Tensor tensor =
      tensor_of(DType::kComplex64, std::vector<float>{inf, -inf, 1, inf, std::nanf(""), 2});
  EXPECT_EQ(tensor.count(), 3);
  EXPECT_EQ(count_at_limit(tensor.dtype, tensor.bytes.data(), 3, *limits_of(tensor.dtype)), 3);
}

// More than one block, and a tail.
TEST(Limits, CountsEveryElement) {
  std::vector<uint16_t> halves(2 * kDetailBlock + 7, 0x3C00);
  halves.front() = halves[kDetailBlock] = 0x7BFF;  // 65504
  halves.back() = 0xFC00;                          // negative infinity
  const Tensor tensor = tensor_of(DType::kFloat16, halves);
  EXPECT_EQ(
      count_at_limit(tensor.dtype, tensor.bytes.data(), tensor.count(), *limits_of(tensor.dtype)),
      3);
}

// What the first pass says is true, or it says nothing.
TEST(Limits, ExtremesSettleTheCommonCase) {
  struct Case {
    const char* name;
    DType dtype;
    std::vector<double> target, golden;
    std::optional<int64_t> settled;
  };
  const double nan = std::nan("");
  const auto half = DType::kFloat16;
  const Case cases[] = {
      {"empty", half, {}, {}, 0},
      {"within", half, {1, -65472}, {3, 4}, 0},
      {"at the upper limit", half, {65504, 1}, {1, 1}, std::nullopt},
      {"at the lower limit", half, {-65504, 1}, {1, 1}, std::nullopt},
      {"infinities beside ordinary values", half, {kInf, -kInf, 2}, {1, 2, 3}, 2},
      {"NaN is none", half, {nan, 2}, {1, 2}, 0},
      {"a value hidden by golden's NaN", half, {65504, 2}, {nan, 2}, std::nullopt},
      {"nothing hidden by golden's infinity", half, {kInf, 2}, {kInf, 2}, 1},
      {"no finite pair", half, {nan, kInf}, {1, 2}, 1},
      {"uint8 without a pair", DType::kUint8, {}, {}, 0},
      {"uint8 with a zero", DType::kUint8, {0, 3}, {1, 3}, std::nullopt},
      {"uint8 within", DType::kUint8, {1, 254}, {0, 3}, 0},
      {"a type without limits", DType::kInt32, {-2147483648.0, 2147483647.0}, {1, nan}, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto limits = limits_of(c.dtype);
    EXPECT_EQ(target_at_limit_by_sums(sums_of(c.target, c.golden), limits), c.settled);
    EXPECT_EQ(golden_at_limit_by_sums(sums_of(c.golden, c.target), limits), c.settled);
  }
}

}  // namespace
}  // namespace plumb::metrics
