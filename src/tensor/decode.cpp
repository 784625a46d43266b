// SPDX-License-Identifier: Apache-2.0
//
// The scalar functions define what each code means; the kernels above them do the same with integer
// arithmetic on vectors. Hardware conversions are not used: they make signalling NaNs quiet, and
// then a tensor would not decode to the bits that numpy gives. Types without a kernel are plain
// loops.
#include "tensor/decode.h"

#include "base/bytes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/decode.cpp"
#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plumb::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
void decode_small(DType dtype, const std::byte* data, int64_t count, float* out) {
  decode_float_scalar(dtype, data, count, out);
}
void widen(const std::byte* data, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(load_le<float>(data + i * 4));
}
#else

// Of float32 bytes, at any address.
void widen(const std::byte* data, int64_t count, double* out) {
  const hn::ScalableTag<double> doubles;
  const hn::Rebind<float, decltype(doubles)> floats;
  const hn::Repartition<uint8_t, decltype(floats)> bytes;
  const auto step = static_cast<int64_t>(hn::Lanes(doubles));
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto* from = reinterpret_cast<const uint8_t*>(data + i * 4);
    hn::StoreU(hn::PromoteTo(doubles, hn::BitCast(floats, hn::LoadU(bytes, from))), doubles,
               out + i);
  }
  for (; i < count; ++i) out[i] = static_cast<double>(load_le<float>(data + i * 4));
}

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Int = hn::Vec<Ints>;

// A small float in the low bits of each lane, without its sign: exponent and mantissa go to their
// places in a float, the difference of the biases is added to the exponent, and subnormals are made
// normal by a subtraction that is exact.
template <int kMantissaBits, int kBias>
Int widened(Int magnitude) {
  const Ints ints;
  const Floats floats;
  const auto shifted = hn::ShiftLeft<23 - kMantissaBits>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(ints, (127 - kBias) << 23));
  const auto least_normal = hn::Set(ints, (128 - kBias) << 23);
  const auto subnormal = hn::Sub(hn::BitCast(floats, hn::Add(shifted, least_normal)),
                                 hn::BitCast(floats, least_normal));
  const auto is_subnormal = hn::Lt(magnitude, hn::Set(ints, 1 << kMantissaBits));
  return hn::IfThenElse(is_subnormal, hn::BitCast(ints, subnormal), normal);
}

hn::Vec<Floats> from_half(Int bits) {
  const Ints ints;
  const auto magnitude = hn::And(bits, hn::Set(ints, 0x7FFF));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const auto is_infinite = hn::Gt(magnitude, hn::Set(ints, 0x7BFF));  // or NaN
  const auto to_255 = hn::IfThenElseZero(is_infinite, hn::Set(ints, (255 - 31 - 112) << 23));
  return hn::BitCast(Floats(), hn::Or(hn::Add(widened<10, 15>(magnitude), to_255), sign));
}

hn::Vec<Floats> from_e4m3fn(Int code) {
  const Ints ints;
  const auto magnitude = hn::And(code, hn::Set(ints, 0x7F));
  const auto sign = hn::ShiftLeft<24>(hn::Xor(code, magnitude));
  const auto is_nan = hn::Eq(magnitude, hn::Set(ints, 0x7F));
  const auto value = hn::IfThenElse(is_nan, hn::Set(ints, 0x7FC00000), widened<3, 7>(magnitude));
  return hn::BitCast(Floats(), hn::Or(value, sign));
}

hn::Vec<Floats> as_floats(Int value) { return hn::ConvertTo(Floats(), value); }

// Converts whole vectors of codes, one to each 32-bit lane, and says how many elements that were.
template <class Code, class Convert>
int64_t convert_vectors(const std::byte* data, int64_t count, float* out, Convert&& convert) {
  const Floats floats;
  const hn::Rebind<Code, Floats> codes;
  const hn::Repartition<uint8_t, decltype(codes)> bytes;  // data may lie at an odd address
  const auto step = static_cast<int64_t>(hn::Lanes(floats));
  int64_t i = 0;
  for (; i + step <= count; i += step) {
    const auto* from = reinterpret_cast<const uint8_t*>(data + i * int64_t{sizeof(Code)});
    const auto loaded = hn::BitCast(codes, hn::LoadU(bytes, from));
    hn::StoreU(convert(hn::PromoteTo(Ints(), loaded)), floats, out + i);
  }
  return i;
}

void decode_small(DType dtype, const std::byte* data, int64_t count, float* out) {
  int64_t done = 0;
  if (dtype == DType::kFloat16)
    done = convert_vectors<uint16_t>(data, count, out, from_half);
  else if (dtype == DType::kFloat8E4M3Fn)
    done = convert_vectors<uint8_t>(data, count, out, from_e4m3fn);
  else if (dtype == DType::kFloat8E5M2)
    done = convert_vectors<uint8_t>(data, count, out,
                                    [](Int code) { return from_half(hn::ShiftLeft<8>(code)); });
  else if (dtype == DType::kBFloat16)
    done = convert_vectors<uint16_t>(
        data, count, out, [](Int code) { return hn::BitCast(Floats(), hn::ShiftLeft<16>(code)); });
  else if (dtype == DType::kInt8 || dtype == DType::kInt4)
    done = convert_vectors<int8_t>(data, count, out, as_floats);
  else if (dtype == DType::kUint8)
    done = convert_vectors<uint8_t>(data, count, out, as_floats);
  decode_float_scalar(dtype, data + done * (bits_of(dtype) / 8), count - done, out + done);
}

#endif

}  // namespace
}  // namespace plumb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace plumb {
namespace {

HWY_EXPORT(decode_small);
HWY_EXPORT(widen);

float with_sign(bool negative, float magnitude) {
  return std::copysign(magnitude, negative ? -1.0F : 1.0F);
}

// (1 + mantissa / 2^mantissa_bits) * 2^exponent
float from_parts(int mantissa, int mantissa_bits, int exponent) {
  return std::ldexp(static_cast<float>((1 << mantissa_bits) + mantissa), exponent - mantissa_bits);
}

template <class T, class Out, class Convert>
void decode_each(const std::byte* data, int64_t count, Out* out, Convert&& convert) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<Out>(convert(load_le<T>(data + i * int64_t{sizeof(T)})));
}

// Types that need no more than the compiler's own conversion.
template <class Out>
bool decode_numbers(DType dtype, const std::byte* data, int64_t count, Out* out) {
  const auto same = [](auto value) { return value; };
  switch (dtype) {
    case DType::kBool:
      decode_each<uint8_t>(data, count, out,
                           [](uint8_t value) { return std::min<uint8_t>(value, 1); });
      return true;
    case DType::kInt4:  // already unpacked to int8 here, as uint1 to uint8
    case DType::kInt8: decode_each<int8_t>(data, count, out, same); return true;
    case DType::kUint1:
    case DType::kUint8: decode_each<uint8_t>(data, count, out, same); return true;
    case DType::kInt16: decode_each<int16_t>(data, count, out, same); return true;
    case DType::kUint16: decode_each<uint16_t>(data, count, out, same); return true;
    case DType::kInt32: decode_each<int32_t>(data, count, out, same); return true;
    case DType::kUint32: decode_each<uint32_t>(data, count, out, same); return true;
    case DType::kInt64: decode_each<int64_t>(data, count, out, same); return true;
    case DType::kUint64: decode_each<uint64_t>(data, count, out, same); return true;
    case DType::kFloat32: decode_each<float>(data, count, out, same); return true;
    case DType::kFloat64: decode_each<double>(data, count, out, same); return true;
    default: return false;
  }
}

// `one(byte, i)` is element i of a byte that holds `kPerByte` of them.
template <int64_t kPerByte, class One>
void unpack_each(const std::byte* data, int64_t first, int64_t count, std::byte* out, One&& one) {
  const int64_t end = first + count;
  int64_t at = first;
  for (; at < end && at % kPerByte != 0; ++at) *out++ = one(data[at / kPerByte], at % kPerByte);
  for (; at + kPerByte <= end; at += kPerByte)
    for (int64_t i = 0; i < kPerByte; ++i) *out++ = one(data[at / kPerByte], i);
  for (; at < end; ++at) *out++ = one(data[at / kPerByte], at % kPerByte);
}

template <class T>
void reverse_each(std::byte* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::byte* at = data + i * int64_t{sizeof(T)};
    T value = load_le<T>(at);
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
    std::memcpy(at, &value, sizeof value);
  }
}

}  // namespace

float float_from_half(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00U)
    return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
  return with_sign(sign != 0, static_cast<float>(magnitude) * 0x1p-24F);
}

float float_from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float float_from_e4m3fn(uint8_t code) {
  const int exponent = code >> 3 & 0xF, mantissa = code & 7;
  float magnitude = from_parts(mantissa, 3, exponent - 7);
  if (exponent == 0) magnitude = static_cast<float>(mantissa) * 0x1p-9F;
  if (exponent == 15 && mantissa == 7) magnitude = std::bit_cast<float>(0x7FC00000U);
  return with_sign(code >> 7, magnitude);
}

// The upper half of a float16.
float float_from_e5m2(uint8_t code) { return float_from_half(static_cast<uint16_t>(code << 8)); }

float float_from_hifloat8(uint8_t code) {
  if (code == 0x00) return 0.0F;
  if (code == 0x80) return std::bit_cast<float>(0x7FC00000U);
  const bool negative = code >> 7;
  const int rest = code & 0x7F;
  if (rest == 0x6F) return with_sign(negative, INFINITY);
  if (rest < 8) return with_sign(negative, std::ldexp(1.0F, rest - 23));
  // The leading bits say how wide the exponent is. It has a sign and a hidden leading one.
  const int width = rest >= 0x60 ? 4 : rest >= 0x40 ? 3 : rest >= 0x20 ? 2 : rest >= 0x10 ? 1 : 0;
  const int mantissa_bits = width == 4 ? 1 : width == 3 ? 2 : 3;
  int exponent = 0;
  if (width > 0) {
    const int hidden = 1 << (width - 1);
    const int field = rest >> mantissa_bits;
    exponent = hidden + (field & (hidden - 1));
    if (field & hidden) exponent = -exponent;
  }
  return with_sign(negative,
                   from_parts(rest & ((1 << mantissa_bits) - 1), mantissa_bits, exponent));
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
  switch (dtype) {
    case DType::kFloat16: return decode_each<uint16_t>(data, count, out, float_from_half);
    case DType::kBFloat16: return decode_each<uint16_t>(data, count, out, float_from_bfloat16);
    case DType::kFloat8E4M3Fn: return decode_each<uint8_t>(data, count, out, float_from_e4m3fn);
    case DType::kFloat8E5M2: return decode_each<uint8_t>(data, count, out, float_from_e5m2);
    case DType::kHiFloat8: return decode_each<uint8_t>(data, count, out, float_from_hifloat8);
    default: decode_numbers(dtype, data, count, out);
  }
}

void decode_float(DType dtype, const std::byte* data, int64_t count, float* out) {
  switch (dtype) {
    case DType::kInt4:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat8E4M3Fn:
    case DType::kFloat8E5M2: return HWY_DYNAMIC_DISPATCH(decode_small)(dtype, data, count, out);
    case DType::kHiFloat8: {
      static const std::array table = [] {
        std::array<float, 256> values;
        for (size_t code = 0; code < values.size(); ++code)
          values[code] = float_from_hifloat8(static_cast<uint8_t>(code));
        return values;
      }();
      return decode_each<uint8_t>(data, count, out, [](uint8_t code) { return table[code]; });
    }
    default: decode_float_scalar(dtype, data, count, out);
  }
}

void decode_double(DType dtype, const std::byte* data, int64_t count, double* out) {
  if (dtype == DType::kFloat32) return HWY_DYNAMIC_DISPATCH(widen)(data, count, out);
  if (decode_numbers(dtype, data, count, out)) return;
  assert(fits_float(dtype));
  std::array<float, 1024> piece;
  const int64_t item_bytes = bits_of(dtype) / 8;
  for (int64_t done = 0; done < count;) {
    const int64_t step = std::min<int64_t>(std::ssize(piece), count - done);
    decode_float(dtype, data + done * item_bytes, step, piece.data());
    decode_double(DType::kFloat32, reinterpret_cast<const std::byte*>(piece.data()), step,
                  out + done);
    done += step;
  }
}

void unpack(DType dtype, const std::byte* data, int64_t first, int64_t count, std::byte* out) {
  assert(dtype == DType::kInt4 || dtype == DType::kUint1);
  if (dtype == DType::kInt4)
    unpack_each<2>(data, first, count, out, [](std::byte both, int64_t i) {
      const int nibble = std::to_integer<int>(both) >> (i * 4) & 0xF;
      return static_cast<std::byte>((nibble ^ 8) - 8);
    });
  else
    unpack_each<8>(data, first, count, out, [](std::byte eight, int64_t i) {
      return eight >> static_cast<int>(7 - i) & std::byte{1};
    });
}

void swap_bytes(DType dtype, std::byte* data, int64_t count) {
  const int64_t numbers = kind_of(dtype) == DKind::kComplex ? 2 : 1;
  switch (bits_of(dtype) / 8 / numbers) {
    case 2: return reverse_each<uint16_t>(data, count * numbers);
    case 4: return reverse_each<uint32_t>(data, count * numbers);
    case 8: return reverse_each<uint64_t>(data, count * numbers);
    default: break;  // single bytes
  }
}

}  // namespace plumb

#endif  // HWY_ONCE
