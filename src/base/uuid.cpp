// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace plumb {
namespace {

// One 64-byte block of RFC 1321, section 3.4.
void digest_block(const uint8_t* block, std::array<uint32_t, 4>& state) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t words[16];
  std::memcpy(words, block, sizeof words);
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t mixed = 0, word = 0;
    switch (i / 16) {
      case 0:
        mixed = (b & c) | (~b & d);
        word = i;
        break;
      case 1:
        mixed = (d & b) | (~d & c);
        word = 5 * i + 1;
        break;
      case 2:
        mixed = b ^ c ^ d;
        word = 3 * i + 5;
        break;
      default:
        mixed = c ^ (b | ~d);
        word = 7 * i;
        break;
    }
    const auto constant = static_cast<uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 0x1p32));
    const uint32_t sum = a + mixed + constant + words[word % 16];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[i / 16][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::array<uint8_t, 16> md5(std::string_view data) {
  std::string padded(data);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const uint64_t bits = data.size() * 8;
  padded.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  std::array<uint32_t, 4> state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  for (size_t at = 0; at < padded.size(); at += 64)
    digest_block(reinterpret_cast<const uint8_t*>(padded.data()) + at, state);
  std::array<uint8_t, 16> digest;
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

std::string uuid3_hex(std::string_view name) {
  constexpr std::string_view kDns(
      "\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8", 16);
  auto id = md5(std::string(kDns) + std::string(name));
  id[6] = static_cast<uint8_t>((id[6] & 0x0F) | 0x30);
  id[8] = static_cast<uint8_t>((id[8] & 0x3F) | 0x80);
  std::string text;
  for (uint8_t byte : id) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace plumb
