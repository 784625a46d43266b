// SPDX-License-Identifier: Apache-2.0
//
// Layouts that cut the channels into blocks of C0 and put them last: NC1HWC0 and its relatives,
// whose names spell their shapes. The last block is padded, so C1 * C0 channels are stored.
#include <fmt/format.h>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

enum class Part : uint8_t { kWhole, kBlocks, kWithinBlock };

struct StoredAxis {
  char letter;
  Part part;
};

std::vector<StoredAxis> stored_axes(const LayoutKind& kind) {
  std::vector<StoredAxis> axes;
  for (char c : kind.axes) {
    if (c == '1')
      axes.back().part = Part::kBlocks;
    else if (c == '0')
      axes.back().part = Part::kWithinBlock;
    else
      axes.push_back({c, Part::kWhole});
  }
  return axes;
}

std::string_view logical_axes(const LayoutKind& kind) {
  return kind.axes.find('D') == std::string_view::npos ? "NCHW" : "NCDHW";
}

Shape stored_shape(const LayoutKind& kind, const NamedShape& sizes, int64_t c0) {
  Shape shape;
  for (StoredAxis axis : stored_axes(kind)) switch (axis.part) {
      case Part::kWhole: shape.push_back(sizes[axis.letter]); break;
      case Part::kBlocks: shape.push_back(ceil_div(sizes[axis.letter], c0)); break;
      case Part::kWithinBlock: shape.push_back(c0); break;
    }
  return shape;
}

std::optional<IndexMap> place_blocks(const LayoutKind& kind, int, const NamedShape& sizes,
                                     const Shape& stored) {
  if (stored_shape(kind, sizes, stored.back()) != stored) return std::nullopt;
  const Shape strides = row_major_strides(stored);
  const std::vector<StoredAxis> axes = stored_axes(kind);
  IndexMap map;
  for (size_t i = 0; i < sizes.axes.size(); ++i) {
    AxisMap axis{sizes.sizes[i], 1, 0, 0};
    for (size_t at = 0; at < axes.size(); ++at) {
      if (axes[at].letter != sizes.axes[i]) continue;
      if (axes[at].part == Part::kWithinBlock) {
        axis.block = stored[at];
        axis.inner = strides[at];
      } else {
        axis.outer = strides[at];
      }
    }
    map.axes.push_back(split_axis(axis.size, axis.block, axis.outer, axis.inner));
  }
  return map;
}

// Without a logical shape: all of the stored elements, padding included.
NamedShape padded_shape(const LayoutKind& kind, const Shape& stored) {
  const std::vector<StoredAxis> axes = stored_axes(kind);
  NamedShape sizes{std::string(logical_axes(kind)), Shape(logical_axes(kind).size(), 1)};
  for (size_t at = 0; at < axes.size(); ++at)
    sizes.sizes[sizes.axes.find(axes[at].letter)] *= stored[at];
  return sizes;
}

}  // namespace

Result<IndexMap> read_blocked(const LayoutKind& kind, int groups, const Shape& stored,
                              const std::optional<Shape>& logical, std::string_view order) {
  if (stored.size() != stored_axes(kind).size() || stored.back() == 0)
    return not_its_shape(kind, stored, fmt::format("({}), C0 at least 1", kind.axes));
  std::optional<NamedMap> found;
  if (logical) {
    found = fit(kind, groups, stored, *logical, logical_axes(kind), true, place_blocks);
    if (!found)
      return does_not_fit(kind, stored, *logical,
                          fmt::format("in no axis order does it take blocks of {}", stored.back()));
  } else {
    const NamedShape sizes = padded_shape(kind, stored);
    found = NamedMap{sizes.axes, *place_blocks(kind, groups, sizes, stored)};
  }
  if (names_axes(order)) return permuted(kind, *found, order);
  if (logical) found->map.axes.resize(logical->size());  // those left out have length 1
  return std::move(found->map);
}

Result<StoredAs> store_blocked(const LayoutKind& kind, int groups, const Shape& logical,
                               std::string_view order, int64_t c0) {
  auto sizes = named_shape(kind, logical, order, logical_axes(kind));
  if (!sizes) return sizes.error();
  if (c0 < 1 || !element_count(logical)) return impossible_storage(kind, logical, c0);
  StoredAs result{stored_shape(kind, *sizes, c0), {}};
  if (!element_count(result.stored)) return impossible_storage(kind, logical, c0);
  result.map = *place_blocks(kind, groups, *sizes, result.stored);
  return result;
}

}  // namespace plumb
