// SPDX-License-Identifier: Apache-2.0
#include "metrics/tensor_stats.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "metrics/block_stats.h"
#include "tensor/encode.h"

namespace plumb::metrics {
namespace {

constexpr float kFloatInf = std::numeric_limits<float>::infinity();
constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

// The generator of tests/data/metrics/make_stats.py.
struct Uniform {
  uint64_t state;
  double next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1.0;
  }
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> generate(DType dtype, uint64_t seed, int64_t count, double scale,
                                double shift) {
  Uniform uniform{seed};
  std::vector<std::byte> bytes;
  const auto append = [&](auto value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), at, at + sizeof value);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double x = uniform.next() * scale + shift;
    switch (dtype) {
      case DType::kFloat32: append(static_cast<float>(x)); break;
      case DType::kFloat64: append(x); break;
      case DType::kInt8: append(static_cast<int8_t>(x)); break;
      case DType::kInt32: append(static_cast<int32_t>(x)); break;
      case DType::kInt64: append(static_cast<int64_t>(x)); break;
      default: append(half_from_float(static_cast<float>(x))); break;
    }
  }
  return bytes;
}

TEST(TensorStats, AgreesWithNumpyInLongDouble) {
  std::ifstream file(PLUMB_TEST_DATA "/metrics/stats.txt");
  std::string text;
  int cases = 0;
  while (std::getline(file, text)) {
    std::istringstream line(text);
    std::string name, type;
    int64_t count, zeros;
    uint64_t seed;
    double scale, shift, mean, std, l2;
    long double min, max;
    line >> name >> type >> count >> seed >> scale >> shift >> min >> max >> mean >> std >> l2 >>
        zeros;
    ASSERT_FALSE(line.fail()) << text;
    SCOPED_TRACE(name);
    const DType dtype = *dtype_from_name(type);
    const auto bytes = generate(dtype, seed, count, scale, shift);
    const TensorStats s = stats_of(dtype, bytes.data(), count);
    EXPECT_EQ(s.count, count);
    EXPECT_EQ(s.finite, count);
    EXPECT_EQ(s.zeros, zeros);
    // numpy prints the shortest digits that give the value back in its own type.
    if (dtype == DType::kFloat32) {
      EXPECT_EQ(static_cast<float>(s.min), static_cast<float>(min));
      EXPECT_EQ(static_cast<float>(s.max), static_cast<float>(max));
    } else if (dtype == DType::kFloat64 || dtype == DType::kFloat16) {
      EXPECT_EQ(static_cast<double>(s.min), static_cast<double>(min));
      EXPECT_EQ(static_cast<double>(s.max), static_cast<double>(max));
    }
    if (kind_of(dtype) == DKind::kInteger) {
      EXPECT_EQ(s.min, min);
      EXPECT_EQ(s.max, max);
    }
    EXPECT_NEAR(s.mean, mean, 1e-13 * (std::fabs(mean) + std));
    // The mean itself is known to half a unit of its last place only.
    EXPECT_NEAR(s.standard_deviation(), std, 1e-12 * std + 0x1p-53 * std::fabs(mean));
    EXPECT_NEAR(s.l2(), l2, 1e-13 * l2);
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

struct OddCase {
  const char* name;
  std::vector<float> values;
  int64_t nan, inf, zeros;
  double min, max, mean;
};

TEST(TensorStats, NonFiniteValuesAreCountedAndLeftOut) {
  const OddCase cases[] = {
      {"empty", {}, 0, 0, 0, 0, 0, 0},
      {"only NaN", {kFloatNan, kFloatNan}, 2, 0, 0, 0, 0, 0},
      {"both infinities", {kFloatInf, -kFloatInf, 2}, 0, 2, 0, 2, 2, 2},
      {"among others", {1, kFloatNan, -3, kFloatInf, 0}, 1, 1, 1, -3, 1, -2.0 / 3},
      {"negative zero", {-0.0f, 0.0f}, 0, 0, 2, 0, 0, 0},
      {"denormal",
       {1e-45f},
       0,
       0,
       0,
       1.4012984643248171e-45,
       1.4012984643248171e-45,
       1.4012984643248171e-45},
      {"float limits",
       {3.4028235e38f, 3.4028235e38f},
       0,
       0,
       0,
       3.4028234663852886e38,
       3.4028234663852886e38,
       3.4028234663852886e38},
  };
  for (const OddCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto bytes = bytes_of(c.values);
    const TensorStats s = stats_of(DType::kFloat32, bytes.data(), std::ssize(c.values));
    EXPECT_EQ(s.count, std::ssize(c.values));
    EXPECT_EQ(s.nan, c.nan);
    EXPECT_EQ(s.inf(), c.inf);
    EXPECT_EQ(s.zeros, c.zeros);
    EXPECT_EQ(static_cast<double>(s.min), c.min);
    EXPECT_EQ(static_cast<double>(s.max), c.max);
    EXPECT_DOUBLE_EQ(s.mean, c.mean);
  }
}

// The sum of finite values may overflow; extremes and counts must not suffer, nor later blocks.
TEST(TensorStats, SumsThatOverflowSpoilNothingElse) {
  std::vector<double> values(kBlock, 1.7e308);
  values.resize(2 * kBlock, 1.0);
  values.back() = 0;
  const TensorStats s = stats_of(DType::kFloat64, bytes_of(values).data(), std::ssize(values));
  EXPECT_EQ(s.max, static_cast<long double>(1.7e308));
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.zeros, 1);
  EXPECT_EQ(s.inf(), 0);
  EXPECT_EQ(s.finite, std::ssize(values));
}

TEST(TensorStats, IntegersBeyondDoubleKeepTheirExtremes) {
  const std::vector<int64_t> values{INT64_MAX, INT64_MAX - 1, INT64_MIN + 1};
  const TensorStats s = stats_of(DType::kInt64, bytes_of(values).data(), 3);
  EXPECT_EQ(static_cast<int64_t>(s.max), INT64_MAX);
  EXPECT_EQ(static_cast<int64_t>(s.min), INT64_MIN + 1);
  const std::vector<uint64_t> big{UINT64_MAX, UINT64_MAX - 2};
  EXPECT_EQ(static_cast<uint64_t>(stats_of(DType::kUint64, bytes_of(big).data(), 2).min),
            UINT64_MAX - 2);
}

TEST(TensorStats, ComplexCountsByModulus) {
  const std::vector<float> parts{3, 4, 0, 0};
  const TensorStats s = stats_of(DType::kComplex64, bytes_of(parts).data(), 2);
  EXPECT_EQ(s.max, 5);
  EXPECT_EQ(s.zeros, 1);
}

bool same_blocks(const BlockStats& a, const BlockStats& b) {
  return std::memcmp(&a.offset_sum, &b.offset_sum, 8) == 0 &&
         std::memcmp(&a.sum_squares, &b.sum_squares, 8) == 0 &&
         std::memcmp(&a.offset_sum_squares, &b.offset_sum_squares, 8) == 0 && a.zeros == b.zeros &&
         a.finite == b.finite && a.min == b.min && a.max == b.max;
}

// Lengths around every vector width, so that the tail loop is always exercised.
TEST(BlockStats, FastKernelAgreesWithReference) {
  Uniform uniform{42};
  for (int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 2047, 2048}) {
    SCOPED_TRACE(n);
    std::vector<float> floats;
    std::vector<double> doubles;
    for (int64_t i = 0; i < n; ++i) {
      doubles.push_back(i % 5 == 0 ? 0 : uniform.next() * std::exp(10 * uniform.next()));
      floats.push_back(static_cast<float>(doubles.back()));
    }
    EXPECT_TRUE(
        same_blocks(block_stats(floats.data(), n, 0.3), block_stats_scalar(floats.data(), n, 0.3)));
    EXPECT_TRUE(
        same_blocks(block_stats(doubles.data(), n, -2), block_stats_scalar(doubles.data(), n, -2)));
    floats[static_cast<size_t>(n / 2)] = kFloatNan;
    EXPECT_FALSE(block_stats(floats.data(), n, 0).finite);
    EXPECT_FALSE(block_stats_scalar(floats.data(), n, 0).finite);
  }
}

TEST(Histogram, CountsEveryFiniteValueOnce) {
  std::vector<float> values{kFloatNan, kFloatInf};
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<float>(i));
  Histogram h;
  h.low = 0;
  h.high = 99;
  h.add(DType::kFloat32, bytes_of(values).data(), std::ssize(values));
  EXPECT_EQ(h.counted, 100);
  for (int64_t n : h.bins) EXPECT_EQ(n, 5);
  // A range whose inverse overflows, and one that overflows itself.
  for (double top : {1e-310, 1.7e308}) {
    Histogram narrow;
    narrow.low = top > 1 ? -top : 0;
    narrow.high = top;
    const std::vector<double> ends{narrow.low, narrow.high, narrow.high};
    narrow.add(DType::kFloat64, bytes_of(ends).data(), 3);
    EXPECT_EQ(narrow.bins.front(), 1);
    EXPECT_EQ(narrow.bins.back(), 2);
  }
  Histogram constant;
  constant.low = constant.high = 7;
  const std::vector<float> sevens(9, 7.0f);
  constant.add(DType::kFloat32, bytes_of(sevens).data(), 9);
  EXPECT_EQ(constant.bins[0], 9);
}

}  // namespace
}  // namespace plumb::metrics
