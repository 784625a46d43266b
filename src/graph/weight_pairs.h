// SPDX-License-Identifier: Apache-2.0
//
// Two constants of one shape, number by number, in pieces.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "graph/constant_tensor.h"

namespace plumb::graph {

inline constexpr int64_t kPieceElements = 4096;

// `use(i, target, golden)` for each element, until it says false. True if it never did.
template <class Use>
bool each_pair(const ConstantTensor& target, const ConstantTensor& golden, Use use) {
  std::array<double, kPieceElements> own, theirs;
  for (int64_t first = 0; first < target.elements(); first += kPieceElements) {
    const int64_t count = std::min(kPieceElements, target.elements() - first);
    target.read(first, std::span(own).first(static_cast<size_t>(count)));
    golden.read(first, std::span(theirs).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i)
      if (!use(first + i, own[static_cast<size_t>(i)], theirs[static_cast<size_t>(i)]))
        return false;
  }
  return true;
}

// Which index along an axis an element has.
struct AxisIndex {
  int64_t inner = 1, size = 1;

  AxisIndex(const Shape& shape, size_t axis) : size(shape[axis]) {
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  size_t operator()(int64_t element) const { return static_cast<size_t>(element / inner % size); }
};

}  // namespace plumb::graph
