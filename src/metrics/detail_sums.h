// SPDX-License-Identifier: Apache-2.0
//
// The closer look at a pair (plumb/details.h), gathered in the one pass: piece by piece, in parts
// that are appended in order, so that threads change nothing. Its size does not grow with the
// tensor's.
#pragma once

#include <vector>

#include "metrics/adaptive_histogram.h"
#include "metrics/pair_sums.h"
#include "tensor/shape.h"

namespace plumb::metrics {

class DetailSums {
 public:
  // `shape` is that of golden. Complex numbers have one more axis, for their parts.
  DetailSums(Shape shape, size_t channel_axis);

  void add(const PairPiece& piece, int64_t first);  // starts at that element of the tensor
  void append(const DetailSums& later);             // of the same shape
  Details finish() const;

 private:
  struct Element {
    double error;  // infinite if the values are not finite in the same way
    int64_t position;
    double target, golden;
  };
  void add_block(int64_t position, const double* target, const double* golden, int64_t count);
  void add_heat(int64_t position, const double* errors, int64_t count);
  void add_channels(int64_t position, const double* dd, const double* gg, int64_t count);
  void add_worst(const Element& element);
  std::optional<ChannelErrors> channels() const;
  std::optional<HeatMap> heat() const;

  Shape shape_;
  int64_t outer_ = 1, inner_ = 1;  // of the heat map
  int64_t heat_rows_ = 1, heat_columns_ = 1;
  size_t axis_;
  int64_t length_ = 1, stride_ = 1, each_ = 1;  // of the channels

  AdaptiveHistogram histogram_;
  std::vector<double> heat_;
  struct Channel {
    int64_t count = 0;
    double dd = 0, gg = 0;
  };
  std::vector<Channel> channels_;  // by group
  std::vector<Element> worst_;     // the largest first; of equals the first
};

// Where channels are, as far as a shape tells: pictures have them behind the batch (or last), all
// else last.
size_t channel_axis(const Shape& shape, bool are_channels_last);

}  // namespace plumb::metrics
