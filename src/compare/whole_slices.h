// SPDX-License-Identifier: Apache-2.0
//
// Ids in tensors of floats: all of it, or the column of classes in rows of detections, beside boxes
// and scores. They are right or wrong. That numbers are ids shows in their digits: they are whole
// where their type holds fractions.
#pragma once

#include <optional>

#include "dump/dump.h"
#include "plumb/run_context.h"

namespace plumb::compare {

// Numbers that are whole on both sides, or on one, and differ.
struct WholeSlice {
  std::optional<size_t> axis;  // none: the whole tensor
  int64_t index = 0, elements = 0, differing = 0;
  int64_t first = 0;              // position of the first element that differs
  double target = 0, golden = 0;  // there
};

// The types that the values of the two sides show, floats both.
struct ShownTypes {
  DType target, golden;
};

// The whole tensor, or the first slice along the last axis or the one before. Tensors of more than
// a million elements are no rows of detections. `marks_from`: see PairFacts; pairs of marks do not
// count. See docs/verdicts.md.
Result<std::optional<WholeSlice>> find_whole_slice(const dump::EntryReader& target,
                                                   const dump::EntryReader& golden,
                                                   const ShownTypes& shown, double marks_from,
                                                   const RunContext& context);

// "axis 1, index 5: 3 of 100 whole numbers differ, the first [4, 5]: 12 instead of 13; ..."
std::string text_of(const WholeSlice& slice, const Shape& shape);

}  // namespace plumb::compare
