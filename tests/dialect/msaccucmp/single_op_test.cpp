// SPDX-License-Identifier: Apache-2.0
//
// Expected errors are numpy's: np.abs(t - g) and np.true_divide(that, np.abs(g)) of arrays of these
// types (numpy 1.24).
#include "dialect/msaccucmp/single_op.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/msaccucmp/overflow.h"
#include "tensor/encode.h"

namespace plumb::msaccucmp {
namespace {

template <class T>
DecodedArray array(DType dtype, std::vector<T> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype, {static_cast<int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
}
DecodedArray halves(std::vector<float> values) {
  std::vector<uint16_t> bits;
  for (float value : values) bits.push_back(half_from_float(value));
  return array(DType::kFloat16, bits);
}
DecodedArray int8s(std::vector<int8_t> values) { return array(DType::kInt8, values); }
DecodedArray uint8s(std::vector<uint8_t> values) { return array(DType::kUint8, values); }

TEST(ElementErrors, InTheTypesOfNumpy) {
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    const char* what;
    DecodedArray target, golden;
    std::vector<double> absolute, relative;
  };
  const Case kCases[] = {
      {"int8 wraps",
       int8s({-128, 127, 5}),
       int8s({127, -128, 2}),
       {1, 1, 3},
       {0.007874015748031496, -0.0078125, 1.5}},
      {"uint8 wraps", uint8s({0, 255}), uint8s({255, 1}), {1, 254}, {0.00392156862745098, 254}},
      {"half rounds",
       halves({0.1f, 1000, 1}),
       halves({0.3f, 0.7f, 0}),
       {0.2000732421875, 999.5, 1},
       {0.6669921875, 1427, inf}},
      {"half and float",
       halves({0.1f, 1000}),
       array<float>(DType::kFloat32, {0.3f, 0.7f}),
       {0.20002442598342896, 999.2999877929688},
       {0.666748046875, 1427.5714111328125}},
      {"int8 and half",
       int8s({1, 2}),
       halves({0.3f, 0.7f}),
       {0.7001953125, 1.2998046875},
       {2.333984375, 1.8564453125}},
      {"int16 and half",
       array<int16_t>(DType::kInt16, {1, 2}),
       halves({0.3f, 0.7f}),
       {0.699951171875, 1.2998046875},
       {2.3327908515930176, 1.8563458919525146}},
      {"int32 and float",
       array<int32_t>(DType::kInt32, {1, 2}),
       array<float>(DType::kFloat32, {0.3f, 0.7f}),
       {0.699999988079071, 1.300000011920929},
       {2.3333332008785725, 1.8571429057997109}},
      {"uint8 and int8", uint8s({200, 2}), int8s({-100, 7}), {300, 5}, {3, 0.7142857142857143}},
      {"uint64 and int64",
       array<uint64_t>(DType::kUint64, {1, 2}),
       array<int64_t>(DType::kInt64, {-1, 7}),
       {2, 5},
       {2, 0.7142857142857143}},
      {"bool and int8",
       array<uint8_t>(DType::kBool, {1, 0}),
       int8s({3, -7}),
       {2, 7},
       {0.6666666666666666, 1}},
      {"smallest int32",
       array<int32_t>(DType::kInt32, {INT32_MIN, 5}),
       array<int32_t>(DType::kInt32, {0, 7}),
       {-2147483648.0, 2},
       {-inf, 0.2857142857142857}},
  };
  for (const Case& c : kCases) {
    const ElementErrors errors = element_errors(c.target, c.golden);
    EXPECT_EQ(errors.absolute, c.absolute) << c.what;
    EXPECT_EQ(errors.relative, c.relative) << c.what;
  }
}

// str() of numpy's scalars.
TEST(NumpyText, ShortestDigits) {
  EXPECT_EQ(numpy_text(DType::kFloat16, 2.7), "2.7");
  EXPECT_EQ(numpy_text(DType::kFloat16, 30000), "30000.0");
  EXPECT_EQ(numpy_text(DType::kFloat16, 65504), "65500.0");
  EXPECT_EQ(numpy_text(DType::kFloat16, 1e-7), "1e-07");
  EXPECT_EQ(numpy_text(DType::kFloat16, 1234.5), "1234.0");
  EXPECT_EQ(numpy_text(DType::kFloat32, 0.1f), "0.1");
  EXPECT_EQ(numpy_text(DType::kFloat32, 123456789), "123456790.0");
  EXPECT_EQ(numpy_text(DType::kFloat32, 1e20), "1e+20");
  EXPECT_EQ(numpy_text(DType::kFloat64, 12), "12.0");
  EXPECT_EQ(numpy_text(DType::kInt32, -5), "-5");
  EXPECT_EQ(numpy_text(DType::kFloat32, INFINITY), "inf");
}

}  // namespace
}  // namespace plumb::msaccucmp
