// SPDX-License-Identifier: Apache-2.0
#include "base/shortest.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace plumb {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kEightDigits = 100'000'000;
constexpr int kMostDigits = 17;  // of a double

// The eight digits of a number below 10^8, the first in the lowest byte. It is halved three times,
// all parts at once: into two of four digits, four of two, eight of one. The products divide by 100
// and by 10 what is below 10^4 and below 100.
uint64_t eight_digits(uint64_t number) {
  const uint64_t fours = number / 10'000 | (number % 10'000) << 32;
  const uint64_t hundreds = (fours * 10'486 >> 20) & 0x0000'007F'0000'007F;
  const uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const uint64_t tens = (twos * 103 >> 10) & 0x000F'000F'000F'000F;
  return (tens | (twos - tens * 10) << 8) + 0x3030'3030'3030'3030;
}

char* write_exponent(char* out, int exponent) {
  *out++ = 'e';
  *out++ = exponent < 0 ? '-' : '+';
  exponent = std::abs(exponent);
  if (exponent >= 100) *out++ = static_cast<char>('0' + exponent / 100);
  *out++ = static_cast<char>('0' + exponent / 10 % 10);
  *out++ = static_cast<char>('0' + exponent % 10);
  return out;
}

}  // namespace

// Always copies as much as there can be, which is one or two instructions, and overwrites it.
char* write_shortest(char* out, double number) {
  if (std::signbit(number)) *out++ = '-';
  if (number == 0) {
    *out++ = '0';
    return out;
  }
  const auto decimal = fmt::detail::dragonbox::to_decimal(std::abs(number));
  const uint64_t upper = decimal.significand / kEightDigits;
  const uint64_t middle = eight_digits(upper % kEightDigits);
  const uint64_t lower = eight_digits(decimal.significand % kEightDigits);
  char all[2 * kMostDigits];  // with zeros in front; what is behind them is copied, never kept
  all[0] = static_cast<char>('0' + upper / kEightDigits);
  std::memcpy(all + 1, &middle, 8);
  std::memcpy(all + 9, &lower, 8);
  std::memset(all + kMostDigits, '0', kMostDigits);
  const int count = fmt::detail::count_digits(decimal.significand);
  const char* const digits = all + kMostDigits - count;
  const int exponent = decimal.exponent + count - 1;  // of the first digit
  if (exponent < -4 || exponent >= 16) {
    out[0] = digits[0];
    out[1] = '.';
    std::memcpy(out + 2, digits + 1, kMostDigits - 1);
    return write_exponent(out + (count > 1 ? count + 1 : 1), exponent);
  }
  if (exponent < 0) {
    std::memcpy(out, "0.0000", 6);
    out += 1 - exponent;
    std::memcpy(out, digits, kMostDigits);
    return out + count;
  }
  std::memcpy(out, digits, kMostDigits);  // a whole number takes the zeros behind the digits, too
  if (decimal.exponent >= 0) return out + exponent + 1;
  out[exponent + 1] = '.';
  std::memcpy(out + exponent + 2, digits + exponent + 1, kMostDigits);
  return out + count + 1;
}

}  // namespace plumb
