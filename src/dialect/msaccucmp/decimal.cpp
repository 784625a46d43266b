// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/decimal.h"

#include <bit>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace plumb::msaccucmp {

// A number of up to 44 significant bits, as all of float32 and float16 are, is an integer over a
// power of two; in millionths that integer still fits 64 bits, and rounding it is exact.
char* append_decimal(double value, char* out) {
  constexpr uint64_t kMillion = 1000000;
  const auto bits = std::bit_cast<uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  const int zeros = std::countr_zero(mantissa);
  mantissa >>= zeros;
  const int shift = 1075 - exponent - zeros;  // value = mantissa / 2^shift
  const bool is_zero = bits << 1 == 0;
  if (!is_zero && (mantissa >> 44 != 0 || shift < 0 || exponent == 0))
    return fmt::format_to(out, "{:.6f}", value);

  if (bits >> 63 != 0) *out++ = '-';
  uint64_t millionths = 0;
  if (!is_zero && shift <= 64) {  // else it is less than half of one
    const uint64_t product = mantissa * kMillion;
    millionths = shift == 64 ? 0 : product >> shift;
    const uint64_t rest = shift == 64 ? product : product - (millionths << shift);
    const uint64_t half = shift == 0 ? UINT64_MAX : uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && millionths % 2 == 1)) ++millionths;
  }
  out = std::to_chars(out, out + 20, millionths / kMillion).ptr;
  *out++ = '.';
  uint64_t fraction = millionths % kMillion;
  for (int digit = 5; digit >= 0; --digit, fraction /= 10)
    out[digit] = static_cast<char>('0' + fraction % 10);
  return out + 6;
}

}  // namespace plumb::msaccucmp
