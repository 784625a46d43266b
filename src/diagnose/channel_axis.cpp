// SPDX-License-Identifier: Apache-2.0
#include "diagnose/channel_axis.h"

namespace plumb::diagnose {

std::optional<size_t> colour_axis(const Shape& shape) {
  if (shape.size() < 3 || shape.size() > 5) return std::nullopt;
  std::optional<size_t> found;
  const size_t first = shape.size() == 3 ? 0 : 1;
  for (size_t axis = first; axis < shape.size(); ++axis) {
    if (shape[axis] < 3 || shape[axis] > kMostColours) continue;
    bool is_shortest = true;
    for (size_t other = first; other < shape.size(); ++other)
      is_shortest &= other == axis || shape[other] > shape[axis];
    if (is_shortest) found = axis;
  }
  return found;
}

}  // namespace plumb::diagnose
