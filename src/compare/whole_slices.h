// SPDX-License-Identifier: Apache-2.0
//
// Ids inside a tensor of other numbers: the column of classes in rows of detections, beside boxes
// and scores. They are right or wrong, like a tensor of nothing but ids.
#pragma once

#include <optional>

#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::compare {

// A slice along an axis that is whole on both sides, and differs.
struct WholeSlice {
  size_t axis = 0;
  int64_t index = 0, elements = 0, differing = 0;
  int64_t first = 0;              // position of the first element that differs
  double target = 0, golden = 0;  // there
};

// Of the last axis or the one before, the first such slice of at least 16 elements with values
// below `most`, where the type has other numbers, too, in a tensor of which the rest is no coarse
// grid. Floats on both sides; tensors of more than a million elements are no rows of detections.
Result<std::optional<WholeSlice>> find_whole_slice(const dump::EntryReader& target,
                                                   const dump::EntryReader& golden, double most,
                                                   const RunContext& context);

// "axis 1, index 5: 3 of 100 whole numbers differ, the first [4, 5]: 12 instead of 13; ..."
std::string text_of(const WholeSlice& slice, const Shape& shape);

}  // namespace plumb::compare
