// SPDX-License-Identifier: Apache-2.0
//
// Functions that only put values elsewhere: joined, transposed, repeated, cut out.
#include <algorithm>
#include <numeric>

#include "diagnose/function_families.h"

namespace plumb::diagnose {
namespace {

// Elements before and behind an axis.
size_t outer_of(const Shape& shape, size_t axis) {
  size_t count = 1;
  for (size_t i = 0; i < axis; ++i) count *= static_cast<size_t>(shape[i]);
  return count;
}

size_t inner_of(const Shape& shape, size_t axis) {
  size_t count = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) count *= static_cast<size_t>(shape[i]);
  return count;
}

// The only axis along which two shapes differ; nullopt if there is not one.
std::optional<size_t> other_axis(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return {};
  std::optional<size_t> found;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] == b[axis]) continue;
    if (found) return {};
    found = axis;
  }
  return found;
}

std::optional<Should> joined_in_order(const Example& example, size_t axis,
                                      const std::vector<size_t>& order) {
  const Shape& shape = example.output.shape;
  const size_t inner = inner_of(shape, axis), length = static_cast<size_t>(shape[axis]);
  std::vector<std::pair<size_t, size_t>> from(length);  // input and place along the axis
  size_t at = 0;
  for (const size_t k : order)
    for (int64_t i = 0; i < example.inputs[k].length(axis); ++i)
      from[at++] = {k, static_cast<size_t>(i)};
  return by_element(example, [&](bool is_golden, size_t i) {
    const size_t outer = i / inner / length, place = i / inner % length;
    const auto& [k, own] = from[place];
    const auto own_length = static_cast<size_t>(example.inputs[k].length(axis));
    return example.inputs[k].of(is_golden)[(outer * own_length + own) * inner + i % inner];
  });
}

}  // namespace

std::optional<Should> joined(const Example& example) {
  if (example.inputs.size() < 2) return {};
  const auto axis = other_axis(example.inputs[0].shape, example.output.shape);
  if (!axis) return {};
  int64_t length = 0;
  for (const Seen& input : example.inputs) {
    if (other_axis(input.shape, example.output.shape) != axis) return {};
    length += input.length(*axis);
  }
  if (length != example.output.length(*axis)) return {};
  std::vector<size_t> order(example.inputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (auto found = joined_in_order(example, *axis, order)) return found;
  std::reverse(order.begin(), order.end());
  return joined_in_order(example, *axis, order);
}

std::optional<Should> transposed(const Example& example) {
  constexpr size_t kMostAxes = 5;
  if (example.inputs.size() != 1) return {};
  const Seen& input = example.inputs[0];
  const size_t rank = input.shape.size();
  if (input.golden->size() != example.count() || rank < 2 || rank > kMostAxes ||
      example.output.shape.size() != rank)
    return {};
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  while (std::next_permutation(order.begin(), order.end())) {
    bool fits = true;
    for (size_t axis = 0; axis < rank; ++axis)
      fits &= example.output.shape[axis] == input.shape[order[axis]];
    if (!fits) continue;
    std::vector<size_t> strides(rank);
    for (size_t axis = 0; axis < rank; ++axis) strides[axis] = inner_of(input.shape, order[axis]);
    const auto place = [&](size_t i) {
      size_t sum = 0;
      for (size_t axis = rank; axis-- > 0;) {
        const auto length = static_cast<size_t>(example.output.shape[axis]);
        sum += i % length * strides[axis];
        i /= length;
      }
      return sum;
    };
    if (auto found = by_element(
            example, [&](bool is_golden, size_t i) { return input.of(is_golden)[place(i)]; }))
      return found;
  }
  return {};
}

// The nearest value, as often as the output is larger.
std::optional<Should> enlarged(const Example& example) {
  if (example.inputs.size() != 1) return {};
  const Seen& input = example.inputs[0];
  const Shape& shape = example.output.shape;
  if (input.shape.size() != shape.size() || input.golden->size() >= example.count()) return {};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (input.shape[axis] == 0 || shape[axis] % input.shape[axis] != 0) return {};
  return by_element(example, [&](bool is_golden, size_t i) {
    size_t place = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      const auto length = static_cast<size_t>(shape[axis]);
      const auto own = static_cast<size_t>(input.shape[axis]);
      place += i % length / (length / own) * stride;
      stride *= own;
      i /= length;
    }
    return input.of(is_golden)[place];
  });
}

// A block along one axis.
std::optional<Should> cut_out(const Example& example) {
  if (example.inputs.size() != 1) return {};
  const Seen& input = example.inputs[0];
  const auto axis = other_axis(input.shape, example.output.shape);
  if (!axis || input.length(*axis) <= example.output.length(*axis)) return {};
  const size_t inner = inner_of(input.shape, *axis);
  const auto whole = static_cast<size_t>(input.length(*axis));
  const auto length = static_cast<size_t>(example.output.length(*axis));
  if (length == 0 || outer_of(input.shape, *axis) == 0) return {};
  for (size_t first = 0; first + length <= whole; ++first)
    if (auto found = by_element(example, [&](bool is_golden, size_t i) {
          const size_t outer = i / inner / length, place = i / inner % length;
          return input.of(is_golden)[(outer * whole + first + place) * inner + i % inner];
        }))
      return found;
  return {};
}

}  // namespace plumb::diagnose
