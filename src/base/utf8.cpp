// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace plumb {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

constexpr auto kNeedsEscape = [] {
  std::array<bool, 256> escaped{};
  for (size_t c = 0; c < escaped.size(); ++c)
    escaped[c] = c < 0x20 || c >= 0x7F || c == '"' || c == '\\';
  return escaped;
}();

}  // namespace

bool is_plain_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

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

char32_t code_point(std::string_view character) {
  constexpr unsigned char kFirstBits[] = {0x7F, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = byte_at(character, 0) & kFirstBits[character.size()];
  for (size_t k = 1; k < character.size(); ++k) code = code << 6 | (byte_at(character, k) & 0x3F);
  return code;
}

std::string valid_utf8(std::string_view text) {
  if (is_plain_text(text)) return std::string(text);
  std::string valid;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    valid += length > 0 ? text.substr(i, length) : "\uFFFD";
    i += std::max<size_t>(length, 1);
  }
  return valid;
}

void append_json_text(std::string& json, std::string_view text) {
  if (std::none_of(text.begin(), text.end(), [](unsigned char c) { return kNeedsEscape[c]; })) {
    const size_t start = json.size();
    json.append(text.size() + 2, '"');  // all at once: results have millions of texts
    text.copy(json.data() + start + 1, text.size());
    return;
  }
  json += '"';
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (c == '\n')
      json += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      json += c;
  }
  json += '"';
}

std::string json_text(std::string_view text) {
  std::string json;
  append_json_text(json, text);
  return json;
}

}  // namespace plumb
