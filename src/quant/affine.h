// SPDX-License-Identifier: Apache-2.0
//
// The affine quantizer: integer = clamp(round(x / scale) + zero), number = (integer - zero) *
// scale. Division and rounding (half to even) are float32's, as ONNX defines QuantizeLinear, so
// that the integers are those of every engine that follows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::quant {

struct Scheme {
  DType dtype = DType::kUint8;   // int4, (u)int8, (u)int16
  bool is_symmetric = false;     // around zero
  bool is_restricted = false;    // as many levels below zero as above: -127..127
  bool is_power_of_two = false;  // scales are, rounded up
  bool is_reduced = false;       // int8 uses -64..64
  bool operator==(const Scheme&) const = default;
};
// "u8", "s8", "u16", "s16", "s4": activations asymmetric if unsigned, weights symmetric.
std::optional<DType> integer_from_text(std::string_view text);
std::string_view text_of(DType integer);

// Numbers that are to be told apart; what lies outside is clipped.
struct Range {
  double lo = 0, hi = 0;
  bool operator==(const Range&) const = default;
};

// The numbers that a quantized tensor can have.
struct Grid {
  float scale = 1;
  int32_t zero = 0;               // the integer that stands for 0
  int32_t least = 0, most = 255;  // integers
  bool is_constant = false;       // the range was empty: one level is all there is

  int32_t quantized(float x) const;
  float dequantized(int32_t integer) const { return static_cast<float>(integer - zero) * scale; }
  float rounded(float x) const { return dequantized(quantized(x)); }
  double lowest() const { return (static_cast<double>(least) - zero) * scale; }
  double highest() const { return (static_cast<double>(most) - zero) * scale; }
  bool operator==(const Grid&) const = default;
};
// The range is widened to contain 0.
Grid grid_of(Range range, const Scheme& scheme);

// How the elements of a tensor fall into channels: one grid for each index of `axis`.
struct Channels {
  int64_t outer = 1, count = 1, inner = 1;

  int64_t of(int64_t element) const { return element / inner % count; }
};
Channels channels_of(const Shape& shape, std::optional<int64_t> axis);  // nullopt: all is one

// Smallest and largest number of each channel.
std::vector<Range> ranges_of(std::span<const float> values, const Channels& channels);

// A tensor as integers, with a grid for all or one for each channel.
struct QuantizedTensor {
  std::vector<int32_t> integers;
  std::vector<Grid> grids;
  Channels channels;

  std::vector<float> numbers() const;
};
QuantizedTensor quantized(std::span<const float> values, const Channels& channels,
                          std::vector<Grid> grids);

// Integers as a tensor of their type stores them, two of int4 to a byte.
std::vector<std::byte> packed(std::span<const int32_t> integers, DType dtype);

}  // namespace plumb::quant
