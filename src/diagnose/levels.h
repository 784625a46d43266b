// SPDX-License-Identifier: Apache-2.0
//
// The values that a tensor takes: whether they stand on a grid, as quantized numbers do, and
// whether they pile up at its ends, where golden goes on.
#pragma once

#include <optional>

#include "compare/values.h"

namespace plumb::diagnose {

// Where a type ends: 127, 65504, ...
bool is_type_limit(double value);

struct Levels {
  int64_t count = 0,
          golden = 0;        // distinct values of each side, in the elements that were looked at
  bool is_grid = false;      // evenly spaced, and far fewer than golden has
  double step = 0;           // of the grid
  double low = 0, high = 0;  // smallest and largest value of the target
  int64_t at_low = 0, at_high = 0;         // elements there ...
  int64_t below = 0, above = 0;            // ... and of golden beyond it
  double golden_low = 0, golden_high = 0;  // golden's own extremes
  double error = 0, after_clipping = 0;  // rel_euclid to golden, and to golden cut at low and high
  int64_t elements = 0;

  bool is_clipped() const;  // elements pile up where golden goes on
};

// False if the first values already are too many for eight bits.
bool may_be_grid(const std::vector<double>& values);

// nullopt if there is nothing to tell: sizes differ, values are not finite, few elements.
std::optional<Levels> levels_of(const compare::PairValues& values);

// How much larger the largest channel is than the usual one.
struct ChannelSpread {
  int64_t axis = 0, channel = 0;
  double ratio = 0;         // of its largest |golden| to the median over channels
  double others_error = 0;  // rel_euclid of all other channels
  double others_size = 0;   // root of their mean square, in golden
};
std::optional<ChannelSpread> channel_spread(const compare::PairValues& values);

// Nearly all of the error in one place along an axis.
struct OneChannel {
  int64_t axis = 0, channel = 0, channels = 0;
  double share = 0;   // of the squared error
  double factor = 1;  // the target's values there over golden's, by least squares
};
std::optional<OneChannel> one_channel(const compare::PairValues& values);

}  // namespace plumb::diagnose
