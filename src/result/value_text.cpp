// SPDX-License-Identifier: Apache-2.0
#include "result/value_text.h"

#include <cmath>
#include <cstdint>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "base/shortest.h"

namespace plumb::result {
namespace {

using metrics::Print;

// Counts are whole and below 2^53; anything else prints as it is.
bool is_whole(double number) { return std::abs(number) < 9e15 && std::trunc(number) == number; }

}  // namespace

char* write_exact(char* out, const metrics::Metric& metric, double number) {
  if (!std::isfinite(number))  // a NaN whatever its sign
    return fmt::format_to(out, "{}", std::isnan(number) ? std::abs(number) : number);
  if (metric.print == Print::kHex && is_whole(number) && number >= 0 && number <= UINT32_MAX)
    return fmt::format_to(out, FMT_COMPILE("{:08x}"), static_cast<uint32_t>(number));
  if (metric.print == Print::kCount && is_whole(number))
    return fmt::format_to(out, FMT_COMPILE("{}"), static_cast<int64_t>(number));
  return write_shortest(out, number);
}

void append_exact(std::string& text, const metrics::Metric& metric, double number) {
  char digits[kShortestRoom];
  text.append(digits, static_cast<size_t>(write_exact(digits, metric, number) - digits));
}

std::string exact_text(const metrics::Metric& metric, double number) {
  std::string text;
  append_exact(text, metric, number);
  return text;
}

std::string undefined_text(const metrics::Value& value) {
  std::string text;
  if (!value.is_bound()) return text = value.reason();
  text.reserve(128);
  append_exact(text += "at most ", metrics::Metric{"", ""}, value.number());
  return (text += ": ") += value.reason();
}

}  // namespace plumb::result
