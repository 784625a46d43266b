// SPDX-License-Identifier: Apache-2.0
//
// Numbers that were rounded to few levels, told from the numbers alone.
#pragma once

#include <optional>

#include "graph/constant_tensor.h"

namespace plumb::graph {

struct Levels {
  int64_t count = 0;            // distinct numbers; of the slice that has most
  std::optional<double> step;   // between neighbours, if that is always the same; the largest
  std::optional<int64_t> axis;  // each slice along it has levels of its own
};

// `rounded` is `original` rounded to the nearest of few levels, which `original` does not have.
// Both have the same shape.
std::optional<Levels> find_levels(const ConstantTensor& rounded, const ConstantTensor& original);

}  // namespace plumb::graph
