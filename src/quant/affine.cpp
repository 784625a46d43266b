// SPDX-License-Identifier: Apache-2.0
#include "quant/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumb::quant {
namespace {

struct Integer {
  std::string_view text;
  DType dtype;
  int32_t least, most;
};
constexpr Integer kIntegers[] = {
    {"u8", DType::kUint8, 0, 255},     {"s8", DType::kInt8, -128, 127},
    {"u16", DType::kUint16, 0, 65535}, {"s16", DType::kInt16, -32768, 32767},
    {"s4", DType::kInt4, -8, 7},
};

const Integer& integer_of(DType dtype) {
  for (const Integer& each : kIntegers)
    if (each.dtype == dtype) return each;
  return kIntegers[0];
}

template <class T>
void append(int32_t integer, std::vector<std::byte>& out) {
  const T value = static_cast<T>(integer);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

}  // namespace

std::optional<DType> integer_from_text(std::string_view text) {
  for (const Integer& each : kIntegers)
    if (each.text == text) return each.dtype;
  return std::nullopt;
}

std::string_view text_of(DType integer) { return integer_of(integer).text; }

int32_t Grid::quantized(float x) const {
  const float steps = std::nearbyint(x / scale);
  // In this order NaN becomes the least, as in ONNX Runtime.
  const auto low = static_cast<float>(least - zero), high = static_cast<float>(most - zero);
  const float within = steps > low ? std::min(steps, high) : low;
  return static_cast<int32_t>(within) + zero;
}

Grid grid_of(Range range, const Scheme& scheme) {
  const Integer& type = integer_of(scheme.dtype);
  Grid grid{1, 0, type.least, type.most, false};
  if (scheme.is_reduced && scheme.dtype == DType::kInt8) grid.least = -(grid.most = 64);
  if (scheme.is_restricted && grid.least < 0) grid.least = -grid.most;
  const double lo = std::min(range.lo, 0.0), hi = std::max(range.hi, 0.0);
  const double steps = static_cast<double>(grid.most) - grid.least;
  double scale = (hi - lo) / steps;
  if (scheme.is_symmetric) scale = 2 * std::max(-lo, hi) / steps;
  if (scheme.is_power_of_two && scale > 0) scale = std::exp2(std::ceil(std::log2(scale)));
  if (!(scale >= std::numeric_limits<float>::min())) {
    grid.is_constant = true;
    return grid;
  }
  grid.scale = static_cast<float>(std::min(scale, double{std::numeric_limits<float>::max()}));
  const double zero = scheme.is_symmetric ? (static_cast<double>(grid.least) + grid.most) / 2
                                          : grid.least - lo / grid.scale;
  grid.zero =
      static_cast<int32_t>(std::clamp(std::nearbyint(zero), double(grid.least), double(grid.most)));
  return grid;
}

Channels channels_of(const Shape& shape, std::optional<int64_t> axis) {
  Channels channels;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    int64_t& size = !axis || at > *axis ? channels.inner
                    : at == *axis       ? channels.count
                                        : channels.outer;
    size *= shape[i];
  }
  return channels;
}

std::vector<Range> ranges_of(std::span<const float> values, const Channels& channels) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<Range> ranges(static_cast<size_t>(channels.count), {kInfinite, -kInfinite});
  size_t at = 0;
  for (int64_t outer = 0; outer < channels.outer; ++outer)
    for (Range& range : ranges)
      for (int64_t i = 0; i < channels.inner; ++i, ++at) {
        range.lo = std::min<double>(range.lo, values[at]);
        range.hi = std::max<double>(range.hi, values[at]);
      }
  for (Range& range : ranges)
    if (range.lo > range.hi) range = {};  // no element at all
  return ranges;
}

QuantizedTensor quantized(std::span<const float> values, const Channels& channels,
                          std::vector<Grid> grids) {
  QuantizedTensor made{std::vector<int32_t>(values.size()), std::move(grids), channels};
  size_t at = 0;
  for (int64_t outer = 0; outer < channels.outer; ++outer)
    for (const Grid& grid : made.grids)
      for (int64_t i = 0; i < channels.inner; ++i, ++at)
        made.integers[at] = grid.quantized(values[at]);
  return made;
}

std::vector<float> QuantizedTensor::numbers() const {
  std::vector<float> made(integers.size());
  size_t at = 0;
  for (int64_t outer = 0; outer < channels.outer; ++outer)
    for (const Grid& grid : grids)
      for (int64_t i = 0; i < channels.inner; ++i, ++at) made[at] = grid.dequantized(integers[at]);
  return made;
}

std::vector<std::byte> packed(std::span<const int32_t> integers, DType dtype) {
  std::vector<std::byte> out;
  out.reserve(integers.size() * 4);
  for (size_t i = 0; i < integers.size(); ++i) switch (dtype) {
      case DType::kInt4: {
        const auto nibble = static_cast<std::byte>(integers[i] & 0xf);
        if (i % 2 == 0)
          out.push_back(nibble);
        else
          out.back() |= nibble << 4;
        break;
      }
      case DType::kInt8:
      case DType::kUint8: append<uint8_t>(integers[i], out); break;
      case DType::kInt16:
      case DType::kUint16: append<uint16_t>(integers[i], out); break;
      default: append<int32_t>(integers[i], out); break;
    }
  return out;
}

}  // namespace plumb::quant
