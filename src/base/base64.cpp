// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <array>

namespace plumb {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 64;

constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kNone);
  for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}();

}  // namespace

void append_base64(std::string& text, Bytes bytes) {
  const auto at = [&](size_t i) { return std::to_integer<uint32_t>(bytes[i]); };
  const size_t start = text.size();
  text.resize(start + (bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data() + start;
  const auto put = [&](uint32_t three, int digits) {
    for (int shift = 18; digits > 0; --digits, shift -= 6) *out++ = kDigits[three >> shift & 63];
  };
  size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) put(at(i) << 16 | at(i + 1) << 8 | at(i + 2), 4);
  if (bytes.size() - i == 2) put(at(i) << 16 | at(i + 1) << 8, 3);
  if (bytes.size() - i == 1) put(at(i) << 16, 2);
}

std::optional<std::vector<uint8_t>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t over = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t held = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i + over >= text.size();
    const uint8_t value = is_padding ? 0 : kValues[static_cast<uint8_t>(text[i])];
    if (value == kNone) return std::nullopt;
    held = held << 6 | value;
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<uint8_t>(held >> shift));
    held = 0;
  }
  bytes.resize(bytes.size() - over);
  return bytes;
}

}  // namespace plumb
