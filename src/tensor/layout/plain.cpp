// SPDX-License-Identifier: Apache-2.0
//
// Row-major layouts: ND, whose axes have no names, and the permutations whose name spells their
// axes (NCHW, NHWC, ...). One of the latter with another number of axes than its name has is just
// ND.
#include <fmt/format.h>

#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

std::optional<IndexMap> place_plain(const LayoutKind& kind, int, const NamedShape& sizes,
                                    const Shape& stored) {
  const Shape strides = row_major_strides(stored);
  IndexMap map;
  for (size_t i = 0; i < sizes.axes.size(); ++i) {
    const size_t at = kind.axes.find(sizes.axes[i]);
    if (stored[at] != sizes.sizes[i]) return std::nullopt;
    map.axes.push_back(whole_axis(stored[at], strides[at]));
  }
  return map;
}

Result<IndexMap> read_unnamed(const LayoutKind& kind, const Shape& stored, const Shape& logical,
                              std::string_view order) {
  const bool reshaped = logical.size() != stored.size() || squeezed(logical) == squeezed(stored);
  if (!reshaped || element_count(logical) != element_count(stored))
    return does_not_fit(kind, stored, logical,
                        reshaped ? "the element counts differ" : "the axes differ in length");
  if (names_axes(order) && squeezed(logical).size() > 1)
    return Error{"layout ND does not name its axes",
                 fmt::format("shape {} was wanted as {}", to_string(logical), order),
                 "read it in its own order, without a layout"};
  return row_major_map(logical);
}

}  // namespace

Result<IndexMap> read_plain(const LayoutKind& kind, int groups, const Shape& stored,
                            const std::optional<Shape>& logical, std::string_view order) {
  const bool named = !kind.axes.empty() && kind.axes.size() == stored.size();
  if (!named) return read_unnamed(kind, stored, logical.value_or(stored), order);
  auto found = fit(kind, groups, stored, logical.value_or(stored), kind.axes, false, place_plain);
  // A shape of another rank does not say which axis is which, but the stored one does.
  if (!found && names_axes(order) && logical->size() != stored.size() &&
      element_count(*logical) == element_count(stored))
    found = fit(kind, groups, stored, stored, kind.axes, false, place_plain);
  if (!found) return read_unnamed(kind, stored, *logical, "");
  const bool is_vector = squeezed(stored).size() <= 1;  // looks the same in any order
  if (!names_axes(order) || (is_vector && !same_letters(order, kind.axes))) return found->map;
  return permuted(kind, *found, order);
}

Result<StoredAs> store_plain(const LayoutKind& kind, int groups, const Shape& logical,
                             std::string_view order, int64_t c0) {
  if (!element_count(logical)) return impossible_storage(kind, logical, c0);
  if (kind.axes.empty()) return StoredAs{logical, row_major_map(logical)};
  auto sizes = named_shape(kind, logical, order, kind.axes);
  if (!sizes) return sizes.error();
  Shape stored;
  for (char axis : kind.axes) stored.push_back((*sizes)[axis]);
  return StoredAs{stored, *place_plain(kind, groups, *sizes, stored)};
}

}  // namespace plumb
