// SPDX-License-Identifier: Apache-2.0
//
// Padding counted as data: the target is larger, holds golden as a block, and zeros around it.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "diagnose/rearrangement.h"
#include "diagnose/transform_families.h"
#include "tensor/layout/layout.h"

namespace plumb::diagnose {
namespace {

// Where the first value that is not zero lies, along each axis.
std::optional<Shape> first_corner(std::span<const double> values, const Shape& shape) {
  Shape corner(shape.size(), std::numeric_limits<int64_t>::max());
  const Shape strides = row_major_strides(shape);
  bool any = false;
  for (int64_t place = 0; place < std::ssize(values); ++place) {
    if (values[static_cast<size_t>(place)] == 0) continue;
    any = true;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      corner[axis] = std::min(corner[axis], place / strides[axis] % shape[axis]);
  }
  if (!any) return std::nullopt;
  return corner;
}

// Golden as a block that starts at `start`.
Rearrangement padded(const Shape& shape, const Shape& larger, const Shape& start) {
  Rearrangement result = plain(shape);
  result.shape = larger;
  for (size_t axis = 0; axis < larger.size(); ++axis) {
    std::vector<int64_t> steps(static_cast<size_t>(larger[axis]), kNowhere);
    std::copy(result.steps[axis].begin(), result.steps[axis].end(), steps.begin() + start[axis]);
    result.steps[axis] = std::move(steps);
  }
  return result;
}

}  // namespace

void find_padding(const Problem& problem, std::vector<Claim>& claims) {
  Shape shape = squeezed(problem.shape), larger = squeezed(problem.target_shape);
  if (shape.size() != larger.size()) {
    // One of them is flat: golden can only be one run of it.
    shape = {std::ssize(problem.golden)};
    larger = {std::ssize(problem.target)};
  }
  if (shape.empty() || shape.size() > kMostAxes) return;
  const auto golden_corner = first_corner(problem.golden, shape);
  const auto target_corner = first_corner(problem.target, larger);
  if (!golden_corner || !target_corner) return;
  Shape start(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    start[axis] = (*target_corner)[axis] - (*golden_corner)[axis];
    if (start[axis] < 0 || start[axis] + shape[axis] > larger[axis]) return;
  }
  const Rearrangement block = padded(shape, larger, start);
  const std::vector<double> predicted = rearranged(block, problem.golden, problem.count(), 0);
  for (int64_t place = 0; place < problem.count(); ++place)
    if (problem.target[static_cast<size_t>(place)] != 0 && place_in_golden(block, place) < 0)
      return;
  const auto left =
      remaining_after(problem, [&](int64_t place) { return predicted[static_cast<size_t>(place)]; },
                      {.has_original = false});
  if (!left) return;
  claims.push_back({"padding",
                    fmt::format("the target holds golden {} as a block of {}, with zeros around it",
                                to_string(problem.shape), to_string(problem.target_shape)),
                    *left});
}

}  // namespace plumb::diagnose
