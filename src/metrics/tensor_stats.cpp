// SPDX-License-Identifier: Apache-2.0
#include "metrics/tensor_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/block_stats.h"
#include "tensor/decode.h"

namespace plumb::metrics {
namespace {

// A block as numbers: floats where they hold every value of the type, doubles otherwise.
struct Block {
  alignas(64) float floats[kBlock];
  alignas(64) double doubles[kBlock];
};

// What a centre far from the block's mean would cost in digits, a second look buys back.
template <class T, class Kernel>
TensorStats from_finite(const T* values, int64_t count, double centre, BlockStats b,
                        Kernel kernel) {
  const auto n = static_cast<double>(count);
  const auto around_mean = [&] { return b.offset_sum_squares - b.offset_sum * (b.offset_sum / n); };
  TensorStats s;
  s.mean = centre + b.offset_sum / n;
  if (b.finite && around_mean() < 0x1p-10 * b.offset_sum_squares) {
    centre = s.mean;
    b = kernel(values, count, centre);
  }
  // Squares of values beyond 1e154 overflow: then the deviation is as good as infinite, not NaN.
  s.squared_deviations = std::isfinite(around_mean()) ? std::max(around_mean(), 0.0)
                                                      : std::numeric_limits<double>::infinity();
  s.count = s.finite = count;
  s.zeros = b.zeros;
  s.min = b.min + 0.0;  // never -0: which zero is the smallest depends on the order
  s.max = b.max + 0.0;
  s.sum_squares = b.sum_squares;
  return s;
}

// Blocks with NaN or infinities: set those aside, then treat the rest as a block of its own. `room`
// has space for the rest and may be the values themselves.
template <class T, class Kernel>
TensorStats from_values(const T* values, int64_t count, double centre, T* room, Kernel kernel) {
  const BlockStats block = kernel(values, count, centre);
  if (block.finite) return from_finite(values, count, centre, block, kernel);
  TensorStats odd;
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(values[i]))
      ++odd.nan;
    else if (std::isinf(values[i]))
      ++(values[i] > 0 ? odd.positive_inf : odd.negative_inf);
    else
      room[kept++] = values[i];
  }
  TensorStats s;
  if (kept > 0) s = from_finite(room, kept, centre, kernel(room, kept, centre), kernel);
  s.count = count;
  s.nan = odd.nan;
  s.positive_inf = odd.positive_inf;
  s.negative_inf = odd.negative_inf;
  return s;
}

// Complex values by their modulus.
void decode_modulus(DType dtype, const std::byte* data, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kComplex64) {
      out[i] = std::hypot(static_cast<double>(load_le<float>(data + 8 * i)),
                          static_cast<double>(load_le<float>(data + 8 * i + 4)));
    } else {
      out[i] = std::hypot(load_le<double>(data + 16 * i), load_le<double>(data + 16 * i + 8));
    }
  }
}

// Doubles round integers beyond 2^53; their extremes must not.
template <class T>
void exact_extremes(const std::byte* data, int64_t count, TensorStats& s) {
  T low = load_le<T>(data), high = low;
  for (int64_t i = 1; i < count; ++i) {
    const T value = load_le<T>(data + i * static_cast<int64_t>(sizeof(T)));
    low = std::min(low, value);
    high = std::max(high, value);
  }
  s.min = low;
  s.max = high;
}

template <class FloatKernel, class DoubleKernel>
TensorStats over_blocks(DType dtype, const std::byte* data, int64_t count, FloatKernel floats,
                        DoubleKernel doubles) {
  TensorStats all;
  if (dtype == DType::kOpaque) {
    all.count = count;
    return all;
  }
  const int64_t item = bits_of(dtype) / 8;
  Block block;
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    const std::byte* at = data + first * item;
    const double centre = std::isfinite(all.mean) ? all.mean : 0;
    TensorStats s;
    if (kind_of(dtype) == DKind::kComplex) {
      decode_modulus(dtype, at, n, block.doubles);
      s = from_values(block.doubles, n, centre, block.doubles, doubles);
    } else if (dtype == DType::kFloat32 && reinterpret_cast<uintptr_t>(at) % alignof(float) == 0) {
      s = from_values(reinterpret_cast<const float*>(at), n, centre, block.floats, floats);
    } else if (fits_float(dtype)) {
      decode_float(dtype, at, n, block.floats);
      s = from_values(block.floats, n, centre, block.floats, floats);
    } else {
      decode_double(dtype, at, n, block.doubles);
      s = from_values(block.doubles, n, centre, block.doubles, doubles);
      if (dtype == DType::kInt64) exact_extremes<int64_t>(at, n, s);
      if (dtype == DType::kUint64) exact_extremes<uint64_t>(at, n, s);
    }
    all.append(s);
  }
  return all;
}

}  // namespace

double TensorStats::standard_deviation() const {
  return finite > 0 ? std::sqrt(squared_deviations / static_cast<double>(finite)) : 0;
}

double TensorStats::l2() const { return std::sqrt(sum_squares); }

void TensorStats::append(const TensorStats& later) {
  if (later.finite > 0) {
    min = finite > 0 ? std::min(min, later.min) : later.min;
    max = finite > 0 ? std::max(max, later.max) : later.max;
    // Two groups become one (Chan, Golub and LeVeque).
    const double both = static_cast<double>(finite + later.finite);
    const double apart = later.mean - mean;
    const double share = static_cast<double>(later.finite) / both;
    if (finite == 0) {
      mean = later.mean;
      squared_deviations = later.squared_deviations;
    } else {
      squared_deviations +=
          later.squared_deviations + apart * apart * share * static_cast<double>(finite);
      mean += apart * share;
    }
    sum_squares += later.sum_squares;
  }
  count += later.count;
  finite += later.finite;
  nan += later.nan;
  positive_inf += later.positive_inf;
  negative_inf += later.negative_inf;
  zeros += later.zeros;
}

TensorStats stats_of(DType dtype, const std::byte* data, int64_t count) {
  return over_blocks(
      dtype, data, count, [](const float* v, int64_t n, double c) { return block_stats(v, n, c); },
      [](const double* v, int64_t n, double c) { return block_stats(v, n, c); });
}

TensorStats stats_of_scalar(DType dtype, const std::byte* data, int64_t count) {
  return over_blocks(
      dtype, data, count,
      [](const float* v, int64_t n, double c) { return block_stats_scalar(v, n, c); },
      [](const double* v, int64_t n, double c) { return block_stats_scalar(v, n, c); });
}

void Histogram::add(DType dtype, const std::byte* data, int64_t count) {
  if (dtype == DType::kOpaque) return;
  const int64_t item = bits_of(dtype) / 8;
  // In long double: the range of doubles may overflow a double, and its inverse, too.
  const long double range = static_cast<long double>(high) - low;
  const auto bin_of = [&](double value) {
    const long double at = range > 0 ? (value - static_cast<long double>(low)) / range * kBins : 0;
    return std::clamp(static_cast<int64_t>(at), int64_t{0}, int64_t{kBins - 1});
  };
  double values[512];
  for (int64_t first = 0; first < count; first += std::ssize(values)) {
    const int64_t n = std::min<int64_t>(std::ssize(values), count - first);
    if (kind_of(dtype) == DKind::kComplex)
      decode_modulus(dtype, data + first * item, n, values);
    else
      decode_double(dtype, data + first * item, n, values);
    for (int64_t i = 0; i < n; ++i) {
      if (!(values[i] >= low && values[i] <= high)) continue;
      ++bins[static_cast<size_t>(bin_of(values[i]))];
      ++counted;
    }
  }
}

}  // namespace plumb::metrics
