// SPDX-License-Identifier: Apache-2.0
//
// Index maps by themselves: questions about one, and the map of a strided view.
#include <algorithm>

#include <fmt/format.h>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {

Shape IndexMap::shape() const {
  Shape sizes;
  for (const AxisMap& axis : axes) sizes.push_back(axis.size);
  return sizes;
}

bool IndexMap::is_identity() const {
  const bool empty =
      std::any_of(axes.begin(), axes.end(), [](auto& axis) { return axis.size == 0; });
  if (empty) return true;
  if (groups || first != 0) return false;
  int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->size > 1) {
      const AxisMap whole = split_axis(axis->size, axis->block, axis->outer, axis->inner);
      if (whole.block != 1 || whole.outer != stride) return false;
    }
    stride *= axis->size;
  }
  return true;
}

int64_t IndexMap::offset(std::span<const int64_t> index) const {
  int64_t at = first;
  if (!groups) {
    for (size_t i = 0; i < axes.size(); ++i) at += axes[i].at(index[i]);
    return at;
  }
  const int64_t group = index[groups->n_axis] / groups->per_group;
  const int64_t folded = group % groups->folded;
  at += group / groups->folded * groups->block_stride;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t position = index[i];
    if (i == groups->n_axis) position = folded * groups->per_group + position % groups->per_group;
    if (i == groups->c_axis) position += folded * groups->channels;
    at += axes[i].at(position);
  }
  return at;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

Shape column_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

IndexMap row_major_map(const Shape& shape) {
  IndexMap map;
  const Shape strides = row_major_strides(shape);
  for (size_t i = 0; i < shape.size(); ++i) map.axes.push_back(whole_axis(shape[i], strides[i]));
  return map;
}

Result<IndexMap> strided_map(const Shape& shape, const Shape& strides, int64_t first,
                             int64_t stored_count) {
  const auto refuse = [&](std::string_view why) {
    return Error{"strided tensor lies outside its storage",
                 fmt::format("shape {}, strides {}, first element {}: {}, {} elements are stored",
                             to_string(shape), to_string(strides), first, why, stored_count),
                 "write the file again; its header is damaged"};
  };
  if (shape.size() != strides.size()) return refuse("one stride per axis is needed");
  const auto count = element_count(shape);
  if (!count) return refuse("the shape is impossible");
  IndexMap map;
  for (size_t i = 0; i < shape.size(); ++i) map.axes.push_back(whole_axis(shape[i], strides[i]));
  map.first = first;
  if (*count == 0) {
    map.first = 0;
    return map;
  }
  // The reach to either side; strides may be negative.
  int64_t low = first, high = first;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto reach = checked_mul(shape[i] - 1, strides[i]);
    const auto moved = reach ? checked_add(*reach < 0 ? low : high, *reach) : std::nullopt;
    if (!moved) return refuse("offsets overflow");
    (*reach < 0 ? low : high) = *moved;
  }
  if (low < 0 || high >= stored_count)
    return refuse(fmt::format("it reaches from {} to {}", low, high));
  return map;
}

}  // namespace plumb
