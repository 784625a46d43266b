// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace plumb::report {
namespace {

using metrics::Metric;
using metrics::Print;
using metrics::Value;

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// The length of the UTF-8 character at `i`; 0 if there is none: overlong forms, surrogates and what
// lies beyond U+10FFFF count as none.
size_t character_length(std::string_view text, size_t i) {
  const unsigned char first = byte_at(text, i), second = byte_at(text, i + 1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t k = 1; k < length; ++k)
    if ((byte_at(text, i + k) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

// The code point of a valid character.
char32_t code_point(std::string_view character) {
  constexpr unsigned char kFirstBits[] = {0x7F, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = byte_at(character, 0) & kFirstBits[character.size()];
  for (size_t k = 1; k < character.size(); ++k) code = code << 6 | (byte_at(character, k) & 0x3F);
  return code;
}

// The second set of control characters, and what changes the direction of writing.
bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Chinese, Japanese and Korean characters, wide forms and pictures take two columns.
bool is_wide(char32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
         (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
         (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF01 && code <= 0xFF60) ||
         (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
         (code >= 0x20000 && code <= 0x3FFFD);
}

// Counts are whole and below 2^53; anything else prints as it is.
bool is_whole(double number) { return std::abs(number) < 9e15 && std::trunc(number) == number; }

}  // namespace

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = std::max<size_t>(1, character_length(text, i));
    width += length > 1 && is_wide(code_point(text.substr(i, length))) ? 2 : 1;
    i += length;
  }
  return width;
}

std::string_view starting(std::string_view text, size_t width) {
  size_t end = 0, used = 0;
  while (end < text.size()) {
    const size_t length = std::max<size_t>(1, character_length(text, end));
    used += display_width(text.substr(end, length));
    if (used > width) break;
    end += length;
  }
  return text.substr(0, end);
}

std::string_view ending(std::string_view text, size_t width) {
  // From the end, a character starts where the bytes before it do not go on in it.
  size_t begin = text.size(), used = 0;
  while (begin > 0) {
    size_t start = begin - 1;
    while (start > 0 && begin - start < 4 && (byte_at(text, start) & 0xC0) == 0x80) --start;
    if (character_length(text, start) != begin - start) start = begin - 1;
    used += display_width(text.substr(start, begin - start));
    if (used > width) break;
    begin = start;
  }
  return text.substr(begin);
}

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string safe;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    const size_t taken = std::max<size_t>(length, 1);
    if (length == 0 || is_control(code_point(text.substr(i, length))))
      for (size_t k = 0; k < taken; ++k) safe += fmt::format("\\x{:02x}", byte_at(text, i + k));
    else
      safe += text.substr(i, length);
    i += taken;
  }
  return safe;
}

bool starts_like_formula(std::string_view text) {
  constexpr std::string_view kStarts[] = {"=", "+", "-", "@", "＝", "＋", "－", "＠"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view start) { return text.starts_with(start); });
}

std::string valid_utf8(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string valid;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    valid += length > 0 ? text.substr(i, length) : "\uFFFD";
    i += std::max<size_t>(length, 1);
  }
  return valid;
}

std::string counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{:.{}f} {}", bytes, bytes < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string shape_text(const result::Side& side) {
  return side.shape ? to_string(*side.shape) : "";
}

std::string place_text(const result::Row& row) {
  const result::Side& side = row.any_side();
  std::string text = side.operator_name;
  if (!side.slot.empty()) text += " " + side.slot;
  if (row.step && row.rank)
    text += fmt::format(" [step {}, rank {}]", *row.step, *row.rank);
  else if (row.step)
    text += fmt::format(" [step {}]", *row.step);
  else if (row.rank)
    text += fmt::format(" [rank {}]", *row.rank);
  return text;
}

std::string reasons_text(const result::Row& row) {
  return fmt::format("{}", fmt::join(row.reasons, ", "));
}

void append_exact(std::string& text, const Metric& metric, double number) {
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

std::string exact_text(const Metric& metric, double number) {
  std::string text;
  append_exact(text, metric, number);
  return text;
}

std::string rounded_text(const Metric& metric, const Value& value) {
  if (value.is_bound()) return fmt::format("<={:.3g}", value.number());
  if (!value.is_defined()) return "-";
  const double number = value.number();
  if (metric.print != Print::kNumber || !std::isfinite(number)) return exact_text(metric, number);
  std::string text = fmt::format("{:.6g}", number);
  for (int digits = 7; digits <= 17 && text == "1" && number != 1; ++digits)
    text = fmt::format("{:.{}g}", number, digits);
  return text;
}

std::string undefined_text(const Value& value) {
  return value.is_bound() ? fmt::format("at most {}: {}", value.number(), value.reason())
                          : std::string(value.reason());
}

}  // namespace plumb::report
