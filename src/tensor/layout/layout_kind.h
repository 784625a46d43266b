// SPDX-License-Identifier: Apache-2.0
//
// What layouts.cpp knows of each layout, and the helpers that layouts with named axes share.
// Private to this folder. A layout describes one thing: where a tensor with given axis sizes lies
// in a given stored shape. Reading, fitting a logical shape and storing all follow from that.
#pragma once

#include "tensor/layout/layout.h"

namespace plumb {

struct LayoutKind {
  int number;
  std::string_view name;
  // The axes of the stored shape by name, "C1" and "C0" being the two halves of C; for FRACTAL_Z
  // those of the logical shape; empty if they have no names.
  std::string_view axes;
  // Both null for a layout that is known by name only. `groups` is at least 1.
  Result<IndexMap> (*read)(const LayoutKind& kind, int groups, const Shape& stored,
                           const std::optional<Shape>& logical, std::string_view order);
  Result<StoredAs> (*store)(const LayoutKind& kind, int groups, const Shape& logical,
                            std::string_view order, int64_t c0);
};

// Each in the file of its name.
Result<IndexMap> read_plain(const LayoutKind&, int, const Shape&, const std::optional<Shape>&,
                            std::string_view);
Result<StoredAs> store_plain(const LayoutKind&, int, const Shape&, std::string_view, int64_t);
Result<IndexMap> read_blocked(const LayoutKind&, int, const Shape&, const std::optional<Shape>&,
                              std::string_view);
Result<StoredAs> store_blocked(const LayoutKind&, int, const Shape&, std::string_view, int64_t);
Result<IndexMap> read_fractal_z(const LayoutKind&, int, const Shape&, const std::optional<Shape>&,
                                std::string_view);
Result<StoredAs> store_fractal_z(const LayoutKind&, int, const Shape&, std::string_view, int64_t);
Result<IndexMap> read_fractal_nz(const LayoutKind&, int, const Shape&, const std::optional<Shape>&,
                                 std::string_view);
Result<StoredAs> store_fractal_nz(const LayoutKind&, int, const Shape&, std::string_view, int64_t);

// A shape whose axes have one-letter names.
struct NamedShape {
  std::string axes;
  Shape sizes;
  int64_t operator[](char axis) const;  // 1 for an axis it does not have
};

// A map whose axes have one-letter names.
struct NamedMap {
  std::string axes;
  IndexMap map;
};

// Where the axes of a tensor of these sizes lie in `stored`, or nullopt if that is not how a tensor
// of these sizes is stored. The stored shape has been checked: nothing that fits it can overflow.
using Place = std::optional<IndexMap> (*)(const LayoutKind& kind, int groups,
                                          const NamedShape& sizes, const Shape& stored);

// The logical shape does not name its axes: the first order in which it fits, beginning with
// `first_axes`. `partial` also takes shapes of lower rank; the other axes, of length 1, come last.
std::optional<NamedMap> fit(const LayoutKind& kind, int groups, const Shape& stored,
                            const Shape& logical, std::string_view first_axes, bool partial,
                            Place place);

// True if `order` asks for axes by name; "" and "ND" mean: as recorded.
bool names_axes(std::string_view order);
bool same_letters(std::string_view a, std::string_view b);
Result<IndexMap> permuted(const LayoutKind& kind, const NamedMap& named, std::string_view order);

// An axis of `size` positions in blocks, written without the split where it makes no difference.
AxisMap split_axis(int64_t size, int64_t block, int64_t outer, int64_t inner);
inline AxisMap whole_axis(int64_t size, int64_t stride) { return {size, 1, stride, 0}; }
IndexMap row_major_map(const Shape& shape);

Error does_not_fit(const LayoutKind& kind, const Shape& stored, const Shape& logical,
                   std::string_view why);
Error not_its_shape(const LayoutKind& kind, const Shape& stored, std::string_view expected);
// The named shape a caller of stored_as means; `usual` stands in for an empty order.
Result<NamedShape> named_shape(const LayoutKind& kind, const Shape& logical, std::string_view order,
                               std::string_view usual);
Error impossible_storage(const LayoutKind& kind, const Shape& logical, int64_t c0);

}  // namespace plumb
