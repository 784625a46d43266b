// SPDX-License-Identifier: Apache-2.0
//
// Each code of each small type against its definition, and the vector kernels of every instruction
// set this machine has against the scalar ones.
#include "tensor/decode.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <zlib.h>

namespace plumb {
namespace {

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The 256 values of an 8-bit float, from an npy file whose header is 128 bytes.
std::vector<float> table(const std::string& name) {
  std::ifstream file(std::string(PLUMB_TEST_DATA) + "/fp8/" + name + ".npy", std::ios::binary);
  std::vector<float> values(256);
  file.seekg(128);
  file.read(reinterpret_cast<char*>(values.data()), 1024);
  EXPECT_EQ(file.gcount(), 1024) << name;
  return values;
}

void expect_table(const std::string& name, float (*decode)(uint8_t)) {
  const std::vector<float> expected = table(name);
  for (int code = 0; code < 256; ++code) {
    const float value = decode(static_cast<uint8_t>(code));
    if (std::isnan(expected[static_cast<size_t>(code)]))
      EXPECT_TRUE(std::isnan(value)) << name << " code " << code;
    else
      EXPECT_EQ(bits(value), bits(expected[static_cast<size_t>(code)])) << name << " code " << code;
  }
}

TEST(Decode, EightBitFloatsFollowTheirTables) {
  expect_table("float8_e4m3fn", float_from_e4m3fn);
  expect_table("float8_e5m2", float_from_e5m2);
  expect_table("hifloat8", float_from_hifloat8);
}

TEST(Decode, HalfByDefinition) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const double sign = code & 0x8000 ? -1 : 1;
    const int exponent = code >> 10 & 31, mantissa = code & 1023;
    const float value = float_from_half(static_cast<uint16_t>(code));
    if (exponent == 31 && mantissa != 0)  // payload and sign kept, not made quiet
      ASSERT_EQ(bits(value), (code & 0x8000) << 16 | 0x7F800000 | (code & 1023) << 13) << code;
    else if (exponent == 31)
      ASSERT_EQ(value, sign * std::numeric_limits<double>::infinity()) << code;
    else
      ASSERT_EQ(bits(value),
                bits(static_cast<float>(sign * (exponent == 0
                                                    ? std::ldexp(mantissa, -24)
                                                    : std::ldexp(1024 + mantissa, exponent - 25)))))
          << code;
  }
}

uint32_t crc_of_all_codes(DType dtype) {
  std::vector<uint16_t> codes(0x10000);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  std::vector<float> values(codes.size());
  decode_float(dtype, bytes_of(codes).data(), 0x10000, values.data());
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(values.data()), 0x40000));
}

// numpy 1.24: zlib.crc32(np.arange(65536, dtype='<u2').view('<f2').astype('<f4').tobytes())
TEST(Decode, HalfBitForBitAsNumpy) { EXPECT_EQ(crc_of_all_codes(DType::kFloat16), 0xe0c069f3U); }

// numpy 1.24: zlib.crc32((np.arange(65536, dtype='<u4') << 16).tobytes())
TEST(Decode, BFloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(crc_of_all_codes(DType::kBFloat16), 0x093b1249U);
}

// Lengths around every vector width, so that the tail loop is always exercised; data at odd
// addresses, because files align nothing.
void expect_fast_agrees_with_scalar() {
  std::mt19937 random(1);
  for (const DTypeInfo& info : dtypes()) {
    if (!fits_float(info.dtype) || info.bits < 8) continue;
    const size_t item_bytes = static_cast<size_t>(info.bits) / 8;
    std::vector<std::byte> data(0x10000 * item_bytes + 1);
    for (size_t i = 0; i + item_bytes < data.size(); i += item_bytes)  // every code of 16 bits
      for (size_t k = 0; k < item_bytes; ++k)
        data[i + 1 + k] = static_cast<std::byte>(k < 2 ? i / item_bytes >> 8 * k : random());
    std::vector<float> fast(0x10000), scalar(0x10000);
    for (int64_t count : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1000, 0x10000}) {
      std::fill(fast.begin(), fast.end(), -1.0F);
      std::fill(scalar.begin(), scalar.end(), -1.0F);
      decode_float(info.dtype, data.data() + 1, count, fast.data());
      decode_float_scalar(info.dtype, data.data() + 1, count, scalar.data());
      ASSERT_EQ(std::memcmp(fast.data(), scalar.data(), 0x40000), 0) << info.name << " " << count;
    }
  }
}

TEST(Decode, VectorsAgreeWithScalarsOnEveryInstructionSet) {
  expect_fast_agrees_with_scalar();
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    expect_fast_agrees_with_scalar();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(Decode, FitsFloat) {
  for (DType dtype : {DType::kBool, DType::kUint1, DType::kInt4, DType::kInt8, DType::kUint8,
                      DType::kInt16, DType::kUint16, DType::kFloat8E4M3Fn, DType::kFloat8E5M2,
                      DType::kHiFloat8, DType::kFloat16, DType::kBFloat16, DType::kFloat32})
    EXPECT_TRUE(fits_float(dtype)) << name_of(dtype);
  for (DType dtype : {DType::kInt32, DType::kUint32, DType::kInt64, DType::kUint64, DType::kFloat64,
                      DType::kComplex64, DType::kComplex128, DType::kOpaque})
    EXPECT_FALSE(fits_float(dtype)) << name_of(dtype);
}

template <class T>
void expect_doubles(DType dtype, const std::vector<T>& values,
                    const std::vector<double>& expected) {
  std::vector<double> out(values.size(), -1);
  decode_double(dtype, bytes_of(values).data(), static_cast<int64_t>(values.size()), out.data());
  EXPECT_EQ(out, expected) << name_of(dtype);
}

TEST(Decode, Doubles) {
  expect_doubles<uint8_t>(DType::kBool, {0, 1, 2, 255}, {0, 1, 1, 1});
  expect_doubles<int8_t>(DType::kInt8, {-128, -1, 127}, {-128, -1, 127});
  expect_doubles<uint8_t>(DType::kUint8, {0, 128, 255}, {0, 128, 255});
  expect_doubles<int16_t>(DType::kInt16, {-32768, 32767}, {-32768, 32767});
  expect_doubles<uint16_t>(DType::kUint16, {32768, 65535}, {32768, 65535});
  expect_doubles<int32_t>(DType::kInt32, {INT32_MIN, 16777217}, {-2147483648.0, 16777217});
  expect_doubles<uint32_t>(DType::kUint32, {UINT32_MAX}, {4294967295.0});
  // 2^53 + 1 and 2^53 + 3 lie between two doubles: ties go to the even one.
  expect_doubles<int64_t>(DType::kInt64, {INT64_MIN, INT64_MAX, 9007199254740993, 9007199254740995},
                          {-0x1p63, 0x1p63, 0x1p53, 0x1p53 + 4});
  expect_doubles<uint64_t>(DType::kUint64, {UINT64_MAX, 1}, {0x1p64, 1});
  expect_doubles<float>(DType::kFloat32, {0.1F, INFINITY}, {0.1F, INFINITY});
  expect_doubles<double>(DType::kFloat64, {0.1, -0x1p-1074}, {0.1, -0x1p-1074});
  expect_doubles<uint16_t>(DType::kFloat16, {0x3C00, 0x0001, 0xFBFF}, {1, 0x1p-24, -65504});
  expect_doubles<uint16_t>(DType::kBFloat16, {0x3F80, 0x0001}, {1, 0x1p-133});
  expect_doubles<uint8_t>(DType::kHiFloat8, {0x08, 0x6E, 0x01}, {1, 32768, 0x1p-22});
}

TEST(Decode, DoublesAreTheFloatsInPiecesOfAnyLength) {
  for (int64_t count : {0, 1, 1023, 1024, 1025, 5000}) {
    std::vector<uint16_t> codes;
    for (int64_t i = 0; i < count; ++i) codes.push_back(static_cast<uint16_t>(i * 5));
    const auto data = bytes_of(codes);
    std::vector<double> out(static_cast<size_t>(count), -1);
    decode_double(DType::kFloat16, data.data(), count, out.data());
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint64_t>(out[i]),
                std::bit_cast<uint64_t>(static_cast<double>(float_from_half(codes[i]))));
  }
}

TEST(Unpack, LowNibbleFirstTwosComplement) {
  const std::vector<uint8_t> packed{0x10, 0x98, 0xF7};
  const std::vector<int8_t> expected{0, 1, -8, -7, 7, -1};
  for (int64_t first = 0; first <= 6; ++first)
    for (int64_t count = 0; first + count <= 6; ++count) {
      std::vector<int8_t> out(8, 99);
      unpack(DType::kInt4, bytes_of(packed).data(), first, count,
             reinterpret_cast<std::byte*>(out.data()));
      for (int64_t i = 0; i < 8; ++i)
        EXPECT_EQ(out[i], i < count ? expected[first + i] : 99) << first << " " << count;
    }
}

TEST(Unpack, MostSignificantBitFirst) {
  const std::vector<uint8_t> packed{0b10110001, 0b01000000, 0b11111110};
  const std::vector<int> expected{1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0,
                                  0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0};
  for (int64_t first = 0; first <= 24; ++first)
    for (int64_t count = 0; first + count <= 24; ++count) {
      std::vector<uint8_t> out(25, 99);
      unpack(DType::kUint1, bytes_of(packed).data(), first, count,
             reinterpret_cast<std::byte*>(out.data()));
      for (int64_t i = 0; i < 25; ++i)
        EXPECT_EQ(out[i], i < count ? expected[first + i] : 99) << first << " " << count;
    }
}

TEST(SwapBytes, EachNumber) {
  const auto swapped = [](DType dtype, std::vector<uint8_t> data, int64_t count) {
    swap_bytes(dtype, reinterpret_cast<std::byte*>(data.data()), count);
    return data;
  };
  using V = std::vector<uint8_t>;
  EXPECT_EQ(swapped(DType::kInt8, {1, 2, 3}, 3), (V{1, 2, 3}));
  EXPECT_EQ(swapped(DType::kInt4, {1, 2, 3}, 6), (V{1, 2, 3}));
  EXPECT_EQ(swapped(DType::kUint1, {1, 2, 3}, 24), (V{1, 2, 3}));
  EXPECT_EQ(swapped(DType::kFloat16, {1, 2, 3, 4, 5}, 2), (V{2, 1, 4, 3, 5}));
  EXPECT_EQ(swapped(DType::kInt32, {1, 2, 3, 4}, 1), (V{4, 3, 2, 1}));
  EXPECT_EQ(swapped(DType::kFloat64, {1, 2, 3, 4, 5, 6, 7, 8}, 1), (V{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(swapped(DType::kComplex64, {1, 2, 3, 4, 5, 6, 7, 8}, 1), (V{4, 3, 2, 1, 8, 7, 6, 5}));
  EXPECT_EQ(swapped(DType::kComplex128, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 1),
            (V{8, 7, 6, 5, 4, 3, 2, 1, 16, 15, 14, 13, 12, 11, 10, 9}));
  EXPECT_EQ(swapped(DType::kFloat32, {1, 2, 3, 4}, 0), (V{1, 2, 3, 4}));
}

}  // namespace
}  // namespace plumb
