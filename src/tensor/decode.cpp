// SPDX-License-Identifier: Apache-2.0
#include "tensor/decode.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace plumb {
namespace {

// Sign, exponent and mantissa fields of a small binary float to those of a float. `bias` is its
// exponent bias; exponent 0 holds subnormals.
float float_from_fields(bool negative, int exponent, int mantissa, int mantissa_bits, int bias) {
  const float fraction = std::ldexp(static_cast<float>(mantissa), -mantissa_bits);
  const float value =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0F + fraction, exponent - bias);
  return negative ? -value : value;
}

float quiet_nan(bool negative) {
  return std::bit_cast<float>(negative ? 0xFFC00000U : 0x7FC00000U);
}

template <class T, class Out, class Convert>
void decode_each(const std::byte* data, int64_t count, Out* out, Convert&& convert) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<Out>(convert(load_le<T>(data + i * int64_t{sizeof(T)})));
}

template <class Out>
void decode_scalar(DType dtype, const std::byte* data, int64_t count, Out* out) {
  const auto as_is = [](auto value) { return value; };
  switch (dtype) {
    case DType::kBool:
      return decode_each<uint8_t>(data, count, out, [](uint8_t v) { return v != 0; });
    case DType::kInt4:
    case DType::kInt8: return decode_each<int8_t>(data, count, out, as_is);
    case DType::kUint1:
    case DType::kUint8: return decode_each<uint8_t>(data, count, out, as_is);
    case DType::kInt16: return decode_each<int16_t>(data, count, out, as_is);
    case DType::kUint16: return decode_each<uint16_t>(data, count, out, as_is);
    case DType::kInt32: return decode_each<int32_t>(data, count, out, as_is);
    case DType::kUint32: return decode_each<uint32_t>(data, count, out, as_is);
    case DType::kInt64: return decode_each<int64_t>(data, count, out, as_is);
    case DType::kUint64: return decode_each<uint64_t>(data, count, out, as_is);
    case DType::kFloat8E4M3Fn: return decode_each<uint8_t>(data, count, out, float_from_e4m3fn);
    case DType::kFloat8E5M2: return decode_each<uint8_t>(data, count, out, float_from_e5m2);
    case DType::kHiFloat8: return decode_each<uint8_t>(data, count, out, float_from_hifloat8);
    case DType::kFloat16: return decode_each<uint16_t>(data, count, out, float_from_half);
    case DType::kBFloat16: return decode_each<uint16_t>(data, count, out, float_from_bfloat16);
    case DType::kFloat32: return decode_each<float>(data, count, out, as_is);
    case DType::kFloat64: return decode_each<double>(data, count, out, as_is);
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kOpaque: break;
  }
  assert(false && "not a real type");
}

}  // namespace

float float_from_half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t rest = bits & 0x7FFFU;
  if (rest >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  if (rest >= 0x0400U) return std::bit_cast<float>(sign | ((rest << 13) + (112U << 23)));
  const float value = static_cast<float>(rest) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float float_from_e4m3fn(uint8_t code) {
  if ((code & 0x7F) == 0x7F) return quiet_nan(code >> 7);
  return float_from_fields(code >> 7, code >> 3 & 0xF, code & 7, 3, 7);
}

float float_from_e5m2(uint8_t code) { return float_from_half(static_cast<uint16_t>(code << 8)); }

float float_from_hifloat8(uint8_t code) {
  const bool negative = code >> 7;
  const unsigned d = code & 0x7FU;
  if (d == 0) return negative ? quiet_nan(false) : 0.0F;
  if (d == 0x6F) return negative ? -INFINITY : INFINITY;
  float value;
  if (d < 8) {
    value = std::ldexp(1.0F, static_cast<int>(d) - 23);
  } else {
    // The leading bits say how wide the exponent is: sign, hidden one, the rest of its magnitude.
    const int width = d >= 0x60 ? 4 : d >= 0x40 ? 3 : d >= 0x20 ? 2 : d >= 0x10 ? 1 : 0;
    const int mantissa_bits = width == 4 ? 1 : width == 3 ? 2 : 3;
    const int mantissa = static_cast<int>(d) & ((1 << mantissa_bits) - 1);
    const int field = static_cast<int>(d) >> mantissa_bits & ((1 << width) - 1);
    int exponent = 0;
    if (width > 0) {
      const int half = 1 << (width - 1);
      exponent = half + (field & (half - 1));
      if (field & half) exponent = -exponent;
    }
    value = std::ldexp(1.0F + std::ldexp(static_cast<float>(mantissa), -mantissa_bits), exponent);
  }
  return negative ? -value : value;
}

bool fits_float(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
    case DType::kUint32:
    case DType::kInt64:
    case DType::kUint64:
    case DType::kFloat64:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kOpaque: return false;
    default: return true;
  }
}

void decode_float_scalar(DType dtype, const std::byte* data, int64_t count, float* out) {
  assert(fits_float(dtype));
  decode_scalar(dtype, data, count, out);
}

void decode_float(DType dtype, const std::byte* data, int64_t count, float* out) {
  decode_float_scalar(dtype, data, count, out);
}

void decode_double(DType dtype, const std::byte* data, int64_t count, double* out) {
  decode_scalar(dtype, data, count, out);
}

void unpack(DType dtype, const std::byte* data, int64_t first, int64_t count, std::byte* out) {
  if (dtype == DType::kInt4) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = first + i;
      const auto nibble = std::to_integer<int>(data[at / 2]) >> (at % 2 * 4) & 0xF;
      out[i] = static_cast<std::byte>((nibble ^ 8) - 8);
    }
  } else {
    assert(dtype == DType::kUint1);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = first + i;
      out[i] = static_cast<std::byte>(std::to_integer<int>(data[at / 8]) >> (7 - at % 8) & 1);
    }
  }
}

void swap_bytes(DType dtype, std::byte* data, int64_t count) {
  const bool is_complex = kind_of(dtype) == DKind::kComplex;
  const int64_t width = bits_of(dtype) / 8 / (is_complex ? 2 : 1);
  const int64_t numbers = count * (is_complex ? 2 : 1);
  for (int64_t i = 0; i < numbers; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

}  // namespace plumb
