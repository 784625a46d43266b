// SPDX-License-Identifier: Apache-2.0
#include "base/toml_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace plumb {
namespace {

constexpr size_t kMaxBytes = 1 << 18;
// toml++ takes nested tables apart recursively, and dotted keys nest without a bound of their own.
// They stand on one line: so many dots a line, times the values it lets nest, fit any stack.
constexpr std::ptrdiff_t kMaxDots = 100;

// The text with '?' for bytes beyond ASCII in comments.
std::string ascii_comments(std::string_view text) {
  std::string ascii(text);
  char quote = '\0';
  bool in_comment = false;
  for (size_t i = 0; i < ascii.size(); ++i) {
    char& c = ascii[i];
    if (c == '\n') {
      in_comment = false;
    } else if (in_comment) {
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else {
      in_comment = c == '#';
    }
  }
  return ascii;
}

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
  // toml++ 3.3 assumes that keys hold no letters beyond ASCII, whatever the text: it gets none.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a mark some editors leave
  const std::string ascii = ascii_comments(text);
  const auto odd = std::find_if(ascii.begin(), ascii.end(),
                                [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (odd != ascii.end())
    return Error{"a letter is not ASCII",
                 fmt::format("line {}", std::count(ascii.begin(), odd, '\n') + 1),
                 "write it as an escape in quotes, \"\\u00e9\"; comments may hold any"};
  toml::parse_result parsed = toml::parse(ascii);
  if (parsed) return std::move(parsed).table();
  return Error{"file is not TOML",
               fmt::format("{}: {}", place(parsed.error().source()), parsed.error().description()),
               "texts stand in quotes: cosine = \">= 0.999\""};
}

}  // namespace plumb
