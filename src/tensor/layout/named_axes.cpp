// SPDX-License-Identifier: Apache-2.0
//
// What layouts with named axes have in common: finding out which axis of a logical shape is which,
// and handing the axes out in the order that was asked for.
#include <algorithm>

#include <fmt/format.h>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

// In the order in which they are tried.
constexpr std::string_view kOrders[] = {"NCHW",  "NHWC",  "HWCN", "NCDHW",
                                        "NDHWC", "DHWCN", "NC",   "CN"};

}  // namespace

int64_t NamedShape::operator[](char axis) const {
  const size_t at = axes.find(axis);
  return at == std::string::npos ? 1 : sizes[at];
}

bool names_axes(std::string_view order) { return !order.empty() && order != "ND"; }

bool same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

std::optional<NamedMap> fit(const LayoutKind& kind, int groups, const Shape& stored,
                            const Shape& logical, std::string_view first_axes, bool partial,
                            Place place) {
  const auto attempt = [&](std::string_view given, std::string_view left_out) {
    NamedShape sizes{std::string(given), logical};
    for (char axis : left_out) {
      sizes.axes += axis;
      sizes.sizes.push_back(1);
    }
    auto map = place(kind, groups, sizes, stored);
    return map ? std::optional(NamedMap{sizes.axes, std::move(*map)}) : std::nullopt;
  };
  const size_t rank = logical.size();
  if (rank == first_axes.size()) {
    if (auto found = attempt(first_axes, "")) return found;
    for (std::string_view order : kOrders)
      if (same_letters(order, first_axes))
        if (auto found = attempt(order, "")) return found;
  } else if (partial && rank < first_axes.size()) {
    // Without the last axes, or without the batch and the last axes: a bias is its channels.
    if (auto found = attempt(first_axes.substr(0, rank), first_axes.substr(rank))) return found;
    const std::string rest =
        std::string(first_axes.substr(rank + 1)) + std::string(first_axes.substr(0, 1));
    if (auto found = attempt(first_axes.substr(1, rank), rest)) return found;
  }
  return std::nullopt;
}

Result<IndexMap> permuted(const LayoutKind& kind, const NamedMap& named, std::string_view order) {
  if (!same_letters(order, named.axes))
    return Error{"axis order does not fit the layout",
                 fmt::format("order {} for layout {}, whose axes are {}", order, kind.name,
                             fmt::join(named.axes, ", ")),
                 "name each of these axes once"};
  IndexMap map;
  map.first = named.map.first;
  map.groups = named.map.groups;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t from = named.axes.find(order[i]);
    map.axes.push_back(named.map.axes[from]);
    if (map.groups && named.map.groups->n_axis == from) map.groups->n_axis = i;
    if (map.groups && named.map.groups->c_axis == from) map.groups->c_axis = i;
  }
  return map;
}

AxisMap split_axis(int64_t size, int64_t block, int64_t outer, int64_t inner) {
  if (block == 1) return whole_axis(size, outer);
  if (size <= block) return whole_axis(size, inner);
  if (checked_mul(block, inner) == outer) return whole_axis(size, inner);
  return {size, block, outer, inner};
}

Error does_not_fit(const LayoutKind& kind, const Shape& stored, const Shape& logical,
                   std::string_view why) {
  return {"logical shape does not fit the stored one",
          fmt::format("layout {}, stored {}, logical {}: {}", kind.name, to_string(stored),
                      to_string(logical), why),
          "give the shape the tensor had before the device layout, or read it as stored"};
}

Error not_its_shape(const LayoutKind& kind, const Shape& stored, std::string_view expected) {
  return {"stored shape does not fit its layout",
          fmt::format("layout {} has the shape {}, stored is {}", kind.name, expected,
                      to_string(stored)),
          "read it as stored; the recorded layout is wrong"};
}

Result<NamedShape> named_shape(const LayoutKind& kind, const Shape& logical, std::string_view order,
                               std::string_view usual) {
  const std::string_view axes = names_axes(order) ? order : usual;
  if (!same_letters(axes, usual) || logical.size() != axes.size())
    return Error{"tensor cannot be stored in this layout",
                 fmt::format("shape {} with axes {} for layout {}, which needs the axes {}",
                             to_string(logical), axes, kind.name, fmt::join(usual, ", ")),
                 "give a shape and an axis order of that rank"};
  return NamedShape{std::string(axes), logical};
}

Error impossible_storage(const LayoutKind& kind, const Shape& logical, int64_t c0) {
  return {
      "tensor cannot be stored in this layout",
      fmt::format("shape {} for layout {} with blocks of {}", to_string(logical), kind.name, c0),
      "check the shape, the block size and the group count"};
}

}  // namespace plumb
