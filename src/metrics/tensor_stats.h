// SPDX-License-Identifier: Apache-2.0
//
// Statistics of one tensor, from pieces of it. A piece is folded over a fixed number of partial
// sums and pieces merge in order, so that threads and instruction set change no digit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace plumb::metrics {

// Everything but the counts is over the finite values; complex numbers count by their modulus.
struct TensorStats {
  int64_t count = 0;
  int64_t finite = 0;
  int64_t nan = 0;
  int64_t positive_inf = 0;
  int64_t negative_inf = 0;
  int64_t zeros = 0;
  long double min =
      0;  // long double holds every 64-bit integer and every double; 0 if none is finite
  long double max = 0;
  double mean = 0;
  double sum_squares = 0;
  double squared_deviations = 0;  // from the mean

  int64_t inf() const { return positive_inf + negative_inf; }
  double standard_deviation() const;  // of the population, as numpy.std
  double l2() const;

  // `later` are the statistics of the elements that follow. Order matters to the last digit.
  void append(const TensorStats& later);
};

// The number of elements a caller should pass at once: pieces of any other size give the same
// statistics up to rounding, pieces of this size the same digits.
inline constexpr int64_t kStatsPiece = 1 << 18;

// `data` holds `count` little-endian elements, one per whole byte(s). kOpaque counts elements only.
TensorStats stats_of(DType dtype, const std::byte* data, int64_t count);
TensorStats stats_of_scalar(DType dtype, const std::byte* data, int64_t count);  // reference

// Counts of values in equal bins between two finite bounds; values outside and non-finite ones are
// not counted. Bounds that are equal make one bin.
struct Histogram {
  static constexpr int kBins = 20;
  double low = 0;
  double high = 0;
  int64_t counted = 0;
  std::array<int64_t, kBins> bins = {};

  void add(DType dtype, const std::byte* data, int64_t count);
};

}  // namespace plumb::metrics
