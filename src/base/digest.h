// SPDX-License-Identifier: Apache-2.0
//
// A short name for what many fields say together (FNV-1a, 64 bits): equal fields have equal names
// on every machine, and different ones have different names unless somebody wants to cheat.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plumb {

class Digest {
 public:
  // A text and its length, so that "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) mix(static_cast<unsigned char>(c));
  }
  void add(const char* text) { add(std::string_view(text)); }
  template <std::integral Number>
  void add(Number number) {
    auto bits = static_cast<uint64_t>(number);
    for (int i = 0; i < 8; ++i, bits >>= 8) mix(static_cast<unsigned char>(bits & 0xFF));
  }
  void add(double number) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  uint64_t value() const { return state_; }

 private:
  void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001B3; }
  uint64_t state_ = 0xCBF29CE484222325;
};

}  // namespace plumb
