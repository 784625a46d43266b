// SPDX-License-Identifier: Apache-2.0
//
// Axes in another order (NCHW and NHWC, heads and tokens), blue before red, mirrored pictures.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "diagnose/channel_axis.h"
#include "diagnose/rearrangement.h"
#include "diagnose/transform_families.h"

namespace plumb::diagnose {
namespace {

using Order = std::vector<size_t>;

constexpr size_t kMostOrdered = 6;  // axes longer than 1: 720 orders

struct KnownOrder {
  Order order;
  const char* words;
};
const KnownOrder kKnown[] = {
    {{0, 2, 3, 1}, " (as from NCHW to NHWC)"},      {{0, 3, 1, 2}, " (as from NHWC to NCHW)"},
    {{1, 2, 0}, " (as from CHW to HWC)"},           {{2, 0, 1}, " (as from HWC to CHW)"},
    {{0, 2, 3, 4, 1}, " (as from NCDHW to NDHWC)"}, {{0, 4, 1, 2, 3}, " (as from NDHWC to NCDHW)"},
};

Shape permuted(const Shape& shape, const Order& order) {
  Shape result;
  for (const size_t axis : order) result.push_back(shape[axis]);
  return result;
}

Order without_ones(const Shape& shape, const Order& order) {
  Order result;
  for (const size_t axis : order)
    if (shape[axis] != 1) result.push_back(axis);
  return result;
}

// The same order of the axes that count with the axes of length 1 where the target has its own,
// else as in a well-known order, else where golden has them.
Order with_ones(const Shape& shape, const Order& longer, const Shape& target_shape) {
  const auto fill = [&](const Shape& ones_of) {
    Order ones, result;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == 1) ones.push_back(axis);
    auto one = ones.begin();
    auto other = longer.begin();
    for (const int64_t length : ones_of) result.push_back(length == 1 ? *one++ : *other++);
    return result;
  };
  if (target_shape.size() == shape.size() && squeezed(target_shape).size() == longer.size()) {
    Order order = fill(target_shape);
    if (permuted(shape, order) == target_shape) return order;
  }
  for (const KnownOrder& known : kKnown)
    if (known.order.size() == shape.size() && without_ones(shape, known.order) == longer)
      return known.order;
  return fill(shape);
}

Rearrangement in_order(const Shape& shape, const Order& order) {
  const Rearrangement same = plain(shape);
  Rearrangement result{.detail = fmt::format("axes:{}", fmt::join(order, ",")),
                       .text = fmt::format("the target is golden with its axes in the order {}",
                                           fmt::join(order, ", ")),
                       .shape = permuted(shape, order),
                       .steps = {}};
  for (const KnownOrder& known : kKnown)
    if (known.order == order) result.text += known.words;
  for (const size_t axis : order) result.steps.push_back(same.steps[axis]);
  return result;
}

// All orders of `shape`, but its own; of golden that has this shape.
void add_orders(const Shape& shape, const Shape& target_shape, std::vector<Rearrangement>& all) {
  Order own(shape.size());
  std::iota(own.begin(), own.end(), size_t{0});
  const Order longer = without_ones(shape, own);
  if (longer.size() < 2 || longer.size() > kMostOrdered || shape.size() > kMostAxes) return;
  for (Order next = longer; std::next_permutation(next.begin(), next.end());)
    all.push_back(in_order(shape, with_ones(shape, next, target_shape)));
}

// Golden may have been given flat, or with heads and channels joined: then the target's axes tell
// what was exchanged.
void add_orders_of_target(const Shape& target_shape, std::vector<Rearrangement>& all) {
  Order own(target_shape.size());
  std::iota(own.begin(), own.end(), size_t{0});
  const Order longer = without_ones(target_shape, own);
  if (longer.size() < 2 || longer.size() > kMostOrdered || target_shape.size() > kMostAxes) return;
  for (Order next = longer; std::next_permutation(next.begin(), next.end());) {
    // Axis `longer[k]` of the target is axis `next[k]` of golden.
    Order order = own;
    Shape shape = target_shape;
    for (size_t k = 0; k < longer.size(); ++k) {
      order[longer[k]] = next[k];
      shape[next[k]] = target_shape[longer[k]];
    }
    all.push_back(in_order(shape, order));
  }
}

void reverse(Rearrangement& all, size_t axis, size_t count) {
  std::reverse(all.steps[axis].begin(), all.steps[axis].begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

std::vector<Rearrangement> axis_orders(const Shape& shape, const Shape& target_shape) {
  std::vector<Rearrangement> all;
  add_orders(shape, target_shape, all);
  Shape lengths = squeezed(shape), target_lengths = squeezed(target_shape);
  std::sort(lengths.begin(), lengths.end());
  std::sort(target_lengths.begin(), target_lengths.end());
  if (lengths != target_lengths) add_orders_of_target(target_shape, all);
  return all;
}

std::vector<Rearrangement> channel_reversals(const Shape& shape) {
  std::vector<Rearrangement> all;
  const auto axis = colour_axis(shape);
  if (!axis) return all;
  // Three colours, or all four channels, or three colours with a fourth channel that stays.
  for (int64_t count = shape[*axis]; count >= 3; --count) {
    Rearrangement next = plain(shape);
    reverse(next, *axis, static_cast<size_t>(count));
    next.detail = "channels_reversed";
    next.text = fmt::format("the target is golden with {} channels along axis {} in reverse order",
                            count == shape[*axis] ? "the" : "the first three", *axis);
    all.push_back(std::move(next));
  }
  return all;
}

std::vector<Rearrangement> flips(const Shape& shape) {
  std::vector<Rearrangement> all;
  const auto colours = colour_axis(shape);
  for (size_t axis = 0; axis < shape.size() && shape.size() <= kMostAxes; ++axis) {
    if (shape[axis] < 2 || colours == axis) continue;
    Rearrangement next = plain(shape);
    reverse(next, axis, static_cast<size_t>(shape[axis]));
    next.detail = fmt::format("flip:{}", axis);
    next.text = fmt::format("the target is golden with axis {} in reverse order", axis);
    all.push_back(std::move(next));
  }
  return all;
}

void find_channels_reversed(const Problem& problem, std::vector<Claim>& claims) {
  try_rearrangements(problem, channel_reversals(problem.shape), {.alternatives = 2}, claims);
}

void find_flip(const Problem& problem, std::vector<Claim>& claims) {
  const auto all = flips(problem.shape);
  try_rearrangements(problem, all, {.alternatives = static_cast<double>(all.size())}, claims);
}

void find_axes(const Problem& problem, std::vector<Claim>& claims) {
  const auto all = axis_orders(problem.shape, problem.target_shape);
  try_rearrangements(problem, all, {.alternatives = static_cast<double>(all.size())}, claims);
}

}  // namespace plumb::diagnose
