// SPDX-License-Identifier: Apache-2.0
//
// Tensors like those of networks, and what goes wrong with them; the same on every machine.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compare/values.h"
#include "metrics/sums_of.h"
#include "tensor/decode.h"
#include "tensor/encode.h"

namespace plumb::diagnose {

using metrics::Random;

struct Made {
  Shape shape;
  std::vector<double> values;

  int64_t count() const { return std::ssize(values); }
  int64_t stride(size_t axis) const {
    int64_t stride = 1;
    for (size_t k = axis + 1; k < shape.size(); ++k) stride *= shape[k];
    return stride;
  }
  int64_t index(int64_t place, size_t axis) const { return place / stride(axis) % shape[axis]; }
};

enum class Kind { kPicture, kUnitPicture, kActivation, kHidden, kLogits };

struct Recipe {
  Shape shape;
  Kind kind;
  bool is_half;
  size_t channels = 1;  // the axis of them
};

inline Made zeros(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<size_t>(*element_count(shape)))};
}

// Smooth, with edges and a little grain; colours are alike but not equal.
inline double pixel(int64_t y, int64_t x, int64_t c, int64_t n, double grain) {
  const double fx = static_cast<double>(x), fy = static_cast<double>(y),
               fc = static_cast<double>(c);
  double value = 120 + 60 * std::sin(0.11 * fx + 0.7 * fc + static_cast<double>(n)) +
                 40 * std::cos(0.07 * fy - 0.05 * fx + 0.3 * fc) + 15 * (1 - fc) + 6 * grain;
  if ((x / 7 + y / 9) % 5 == 0) value -= 30 + 11 * fc;
  return std::min(255.0, std::max(0.0, value));
}

inline Made make(const Recipe& recipe, Random& random) {
  Made made = zeros(recipe.shape);
  const size_t rank = recipe.shape.size(), channel = recipe.channels;
  const bool is_last = channel + 1 == rank;
  std::vector<double> scale, bias;
  for (int64_t c = 0; c < recipe.shape[channel]; ++c) {
    scale.push_back(std::exp(0.5 * random.normal()));
    bias.push_back(0.4 * random.normal());
  }
  for (int64_t i = 0; i < made.count(); ++i) {
    const int64_t c = made.index(i, channel);
    const double z = random.normal(), s = scale[static_cast<size_t>(c)];
    double value = 0;
    switch (recipe.kind) {
      case Kind::kPicture:
      case Kind::kUnitPicture: {
        const int64_t x = made.index(i, is_last ? rank - 2 : rank - 1);
        const int64_t y = made.index(i, is_last ? rank - 3 : rank - 2);
        value = pixel(y, x, c, i / (made.stride(0)), z);
        if (recipe.kind == Kind::kUnitPicture) value /= 255;
        break;
      }
      case Kind::kActivation: value = std::max(0.0, s * z + bias[static_cast<size_t>(c)]); break;
      case Kind::kHidden:
        value = s * z * (c % 97 == 5 ? 20 : 1) + bias[static_cast<size_t>(c)];
        break;
      case Kind::kLogits: value = 3 * z + 1; break;
    }
    made.values[static_cast<size_t>(i)] = value;
  }
  return made;
}

inline double half(double value) {
  return float_from_half(half_from_float(static_cast<float>(value)));
}

inline Made stored(Made made, bool is_half) {
  for (double& value : made.values) value = is_half ? half(value) : static_cast<float>(value);
  return made;
}

// What another platform makes of the same tensor.
inline Made computed_again(Made made, bool is_half, Random& random) {
  for (double& value : made.values) value *= 1 + (is_half ? 0x1p-11 : 0x1p-24) * random.uniform();
  return made;
}

inline double noise_of(bool is_half) { return is_half ? 0x1p-10 : 1e-6; }

inline compare::PairValues pair_of(const Made& target, const Made& golden, bool is_half) {
  const DType dtype = is_half ? DType::kFloat16 : DType::kFloat32;
  return {target.shape, golden.shape, dtype, dtype, target.values, golden.values, true};
}

inline Made each(Made made, const std::function<double(double)>& change) {
  for (double& value : made.values) value = change(value);
  return made;
}

// result.shape[k] = made.shape[order[k]], as numpy's transpose.
inline Made transposed(const Made& made, const std::vector<size_t>& order) {
  Shape shape;
  for (const size_t axis : order) shape.push_back(made.shape[axis]);
  Made result = zeros(shape);
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t from = 0;
    for (size_t k = 0; k < order.size(); ++k) from += result.index(i, k) * made.stride(order[k]);
    result.values[static_cast<size_t>(i)] = made.values[static_cast<size_t>(from)];
  }
  return result;
}

// The element at `index` along the axis comes from `from(index)`; outside it is `otherwise`.
inline Made moved(
    const Made& made, size_t axis, const std::function<int64_t(int64_t)>& from,
    const std::function<double()>& otherwise = [] { return 0.0; }) {
  Made result = made;
  for (int64_t i = 0; i < made.count(); ++i) {
    const int64_t at = made.index(i, axis), source = from(at);
    const bool is_inside = source >= 0 && source < made.shape[axis];
    result.values[static_cast<size_t>(i)] =
        is_inside ? made.values[static_cast<size_t>(i + (source - at) * made.stride(axis))]
                  : otherwise();
  }
  return result;
}

// In the middle of zeros: `more` places along each axis longer than 1, `before` of them in front.
inline Made padded(const Made& made, int64_t before, int64_t more) {
  Shape shape = made.shape;
  for (int64_t& length : shape) length += length > 1 ? more : 0;
  Made result = zeros(shape);
  for (int64_t i = 0; i < made.count(); ++i) {
    int64_t to = 0;
    for (size_t k = 0; k < shape.size(); ++k)
      to += (made.index(i, k) + (made.shape[k] > 1 ? before : 0)) * result.stride(k);
    result.values[static_cast<size_t>(to)] = made.values[static_cast<size_t>(i)];
  }
  return result;
}

}  // namespace plumb::diagnose
