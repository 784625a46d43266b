// SPDX-License-Identifier: Apache-2.0
#include "diagnose/round_number.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace plumb::diagnose {

std::string round_number(double value, double tolerance) {
  constexpr int kMost = 7, kFew = 3;
  if (std::fabs(value) <= tolerance) return "0";
  if (std::fabs(value) < 1e9 && value == std::round(value)) return fmt::format("{}", value);
  std::string text;
  for (int digits = 1; digits <= kMost; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (std::fabs(read - value) > tolerance) {
      if (digits != kFew) continue;
      const double whole = std::round(1 / value);
      if (std::fabs(whole) <= 0x1p16 && std::fabs(1 / whole - value) <= tolerance)
        return fmt::format("{:.6g}", 1 / whole);
      continue;
    }
    return fmt::format("{}", read);  // "2.6e+02" is 260
  }
  return text;
}

}  // namespace plumb::diagnose
