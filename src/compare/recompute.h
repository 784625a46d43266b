// SPDX-License-Identifier: Apache-2.0
//
// Whether a tensor is what a function gives of tensors that were dumped, on both sides. Nothing
// says along which axis a Softmax sums, or how steep a HardSigmoid is: what fits, it is.
#pragma once

#include <optional>
#include <vector>

#include "compare/reading.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::compare {

// What the values of both sides say of it.
struct Recomputed {
  // Another share comes first along the axis of a Softmax, or of a Sigmoid's shares above one half
  // more than one in twenty are below it on the other side.
  bool changes_decision = false;
};
// The values of one side.
struct ReadValues {
  struct Input {
    std::vector<double> values;
    Shape shape;
    DType dtype;
  };
  std::vector<double> given;
  Shape shape;
  DType dtype;  // that the values went through
  std::vector<Input> inputs;
};

// Nothing if one of the two is not what the function gives, to within rounding of its type.
std::optional<Recomputed> recompute(Made made, const ReadValues& target, const ReadValues& golden);

}  // namespace plumb::compare
