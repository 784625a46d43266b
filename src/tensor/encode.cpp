// SPDX-License-Identifier: Apache-2.0
#include "tensor/encode.h"

#include <bit>
#include <cmath>

namespace plumb {

uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00 | (bits >> 13 & 0x3FF));
  if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00);  // would round past 65504
  if (size < 0x1p-14f) {  // subnormal: a whole number of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24f)));
  }
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

}  // namespace plumb
