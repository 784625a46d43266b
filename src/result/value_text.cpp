// SPDX-License-Identifier: Apache-2.0
#include "result/value_text.h"

#include <cmath>
#include <cstdint>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace plumb::result {
namespace {

using metrics::Print;

// Counts are whole and below 2^53; anything else prints as it is.
bool is_whole(double number) { return std::abs(number) < 9e15 && std::trunc(number) == number; }

}  // namespace

void append_exact(std::string& text, const metrics::Metric& metric, double number) {
  char digits[32];
  const auto take = [&](char* end) { text.append(+digits, end); };
  if (std::isnan(number))
    text += "nan";  // whatever its sign
  else if (metric.print == Print::kHex && is_whole(number) && number >= 0 && number <= UINT32_MAX)
    take(fmt::format_to(digits, FMT_COMPILE("{:08x}"), static_cast<uint32_t>(number)));
  else if (metric.print == Print::kCount && is_whole(number))
    take(fmt::format_to(digits, FMT_COMPILE("{}"), static_cast<int64_t>(number)));
  else
    take(fmt::format_to(digits, FMT_COMPILE("{}"), number));
}

std::string exact_text(const metrics::Metric& metric, double number) {
  std::string text;
  append_exact(text, metric, number);
  return text;
}

std::string undefined_text(const metrics::Value& value) {
  return value.is_bound() ? fmt::format("at most {}: {}", value.number(), value.reason())
                          : std::string(value.reason());
}

}  // namespace plumb::result
