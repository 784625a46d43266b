// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace plumb {
namespace {

template <class From, class To>
std::optional<Misfit> convert_all(DType from, const std::vector<From>& values, DType to,
                                  bool rounds, std::vector<To>& out) {
  out.assign(values.size(), To{});
  return convert(from, std::as_bytes(std::span(values)), to, rounds,
                 std::as_writable_bytes(std::span(out)));
}

TEST(Convert, WhatCanBe) {
  EXPECT_TRUE(can_convert(DType::kFloat8E4M3Fn, DType::kFloat16));
  EXPECT_TRUE(can_convert(DType::kInt64, DType::kBool));
  EXPECT_FALSE(can_convert(DType::kFloat32, DType::kFloat8E5M2));
  EXPECT_FALSE(can_convert(DType::kInt4, DType::kInt8)) << "packed";
  EXPECT_FALSE(can_convert(DType::kInt8, DType::kInt4));
  EXPECT_FALSE(can_convert(DType::kComplex64, DType::kFloat32));
  EXPECT_FALSE(can_convert(DType::kFloat32, DType::kOpaque));
}

TEST(Convert, TheFirstMisfitIsTold) {
  std::vector<int8_t> bytes;
  const std::vector<double> values{1, -2, 2.5, 300};
  auto misfit = convert_all(DType::kFloat64, values, DType::kInt8, false, bytes);
  ASSERT_TRUE(misfit);
  EXPECT_EQ(misfit->element, 2);
  EXPECT_EQ(misfit->value, 2.5);
  EXPECT_EQ(misfit->nearest, 2.0);
  misfit = convert_all(DType::kFloat64, values, DType::kInt8, true, bytes);
  ASSERT_TRUE(misfit);
  EXPECT_EQ(misfit->element, 3);
  EXPECT_EQ(misfit->nearest, std::nullopt) << "out of range";
  EXPECT_EQ(bytes[1], -2);
}

TEST(Convert, IntegersOf64Bits) {
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::max();
  std::vector<uint64_t> numbers;
  EXPECT_FALSE(
      convert_all(DType::kInt64, std::vector<int64_t>{kLarge}, DType::kUint64, false, numbers));
  EXPECT_EQ(numbers[0], static_cast<uint64_t>(kLarge));
  EXPECT_TRUE(convert_all(DType::kInt64, std::vector<int64_t>{-1}, DType::kUint64, true, numbers));
  std::vector<double> reals;
  EXPECT_TRUE(
      convert_all(DType::kInt64, std::vector<int64_t>{kLarge}, DType::kFloat64, false, reals));
}

TEST(Convert, FloatsBecomeInfinite) {
  std::vector<float> floats;
  EXPECT_FALSE(
      convert_all(DType::kFloat64, std::vector<double>{1e300, NAN}, DType::kFloat32, true, floats));
  EXPECT_EQ(floats[0], INFINITY);
  EXPECT_TRUE(std::isnan(floats[1]));
  EXPECT_TRUE(
      convert_all(DType::kFloat64, std::vector<double>{1e300}, DType::kFloat32, false, floats));
}

TEST(Convert, AnyBoolThatIsNotZeroIsOne) {
  std::vector<int32_t> numbers;
  EXPECT_FALSE(
      convert_all(DType::kBool, std::vector<uint8_t>{0, 7}, DType::kInt32, false, numbers));
  EXPECT_EQ(numbers, (std::vector<int32_t>{0, 1}));
  std::vector<uint8_t> bools;
  EXPECT_TRUE(convert_all(DType::kInt32, std::vector<int32_t>{2}, DType::kBool, true, bools));
}

// More elements than are decoded at a time.
TEST(Convert, LongLists) {
  std::vector<uint16_t> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i);
  std::vector<int64_t> numbers;
  EXPECT_FALSE(convert_all(DType::kUint16, values, DType::kInt64, false, numbers));
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
}

}  // namespace
}  // namespace plumb
