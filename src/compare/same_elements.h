// SPDX-License-Identifier: Apache-2.0
//
// Two tensors of different shapes that hold the same elements all the same: with axes in another
// order, in other rows, or with padding. That is still a difference, but one of layout, and whoever
// reads the row should not look for an error of arithmetic.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dump/dump.h"
#include "plumb/row.h"
#include "tensor/shape.h"

namespace plumb::compare {

struct SameElements {
  std::string_view reason;  // "transposed", "flattened" or "padded"
  std::string message;      // a clause behind the two shapes
};

// Both whole, in plain order. The elements agree if the error is at most a hundredth of what golden
// deviates from its mean: nothing else would be told from chance.
std::optional<SameElements> same_elements(std::span<const double> target, const Shape& target_shape,
                                          std::span<const double> golden,
                                          const Shape& golden_shape);

// Adds it to a row that failed for its shape, if both tensors are small enough to be looked at
// whole.
void tell_same_elements(dump::EntryReader& target, dump::EntryReader& golden, result::Row& row);

}  // namespace plumb::compare
