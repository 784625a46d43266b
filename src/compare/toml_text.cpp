// SPDX-License-Identifier: Apache-2.0
#include "compare/toml_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace plumb::compare {
namespace {

constexpr size_t kMaxBytes = 1 << 18;
// toml++ takes nested tables apart recursively, and dotted keys nest without a bound of their own.
// They stand on one line: so many dots a line, times the values it lets nest, fit any stack.
constexpr std::ptrdiff_t kMaxDots = 100;

}  // namespace

std::string place(const toml::source_region& source) {
  return fmt::format("line {}, column {}", source.begin.line, source.begin.column);
}

Result<toml::table> parse_toml(std::string_view text) {
  if (text.size() > kMaxBytes)
    return Error{"file is too long",
                 fmt::format("{} bytes, {} are allowed", text.size(), kMaxBytes),
                 "is it the file you meant?"};
  size_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const auto dots = std::count(text.begin() + at, text.begin() + end, '.');
    if (dots > kMaxDots)
      return Error{"too many dots in a line",
                   fmt::format("line {}: {} dots, {} are allowed", line, dots, kMaxDots),
                   "is it the file you meant?"};
    at = end + 1;
  }
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  return Error{"file is not TOML",
               fmt::format("{}: {}", place(parsed.error().source()), parsed.error().description()),
               "texts stand in quotes: cosine = \">= 0.999\""};
}

}  // namespace plumb::compare
