// SPDX-License-Identifier: Apache-2.0
//
// Two constants that should be the same one: whether they are, and if not, what turns golden's into
// the target's. An explanation is given only if it fits every number up to the rounding of its
// type; else the difference is measured and called by no name.
#pragma once

#include <optional>
#include <string>

#include "graph/constant_tensor.h"

namespace plumb::graph {

struct WeightLimits {
  double tolerance = 0;  // relative norm of the difference that counts as none
  double slack = 0;      // ... and of a single number, for what a converter computed anew
};

struct WeightDifference {
  // One word, of how golden becomes the target: "scale:1.03", "scale_per_channel", "offset:0.01",
  // "affine:1.03,0.01", "affine_per_channel", "negated", "zeroed", "channel:7", "channels:3,7",
  // "element:0,2,1,1", "levels:15", "cast:float16", "saturated:-1,1", "axes:1,0",
  // "channels_reversed", "flip:3", "permuted:0", "nonfinite:4", "shape", "values". With "golden_"
  // before it, of how the target becomes golden (levels, cast).
  std::string detail;
  std::string words;             // a clause: "scaled by 1.03"
  bool is_quantization = false;  // rounded to few levels

  double relative_norm = 0;  // |target - golden| / |golden|; infinite if golden is zero
  double max_abs = 0;
  int64_t elements = 0, differing = 0;
  std::optional<double> scale, offset;   // of all, of the one channel, else the largest of channels
  std::optional<double> smallest_scale;  // of channels, if each has its own
  std::optional<double> step;            // between levels
  std::optional<int64_t> axis, channel, levels;
};

// nullopt: no difference.
std::optional<WeightDifference> compare_weights(const ConstantTensor& target,
                                                const ConstantTensor& golden,
                                                const WeightLimits& limits = {});

// The relative error that rounding to the type makes at most; 0 for integers.
double rounding_of(DType dtype);

// A few digits, for words: 1.03.
std::string short_number(double value);

}  // namespace plumb::graph
