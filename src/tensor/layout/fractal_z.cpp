// SPDX-License-Identifier: Apache-2.0
//
// FRACTAL_Z and FRACTAL_Z_3D: convolution weights in tiles of N0 x C0, stored as
// (blocks * D * C1 * H * W, N1, N0, C0). Weights of grouped convolutions fold several groups into
// one block, along the diagonal, until the channels of the block fill whole tiles.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

constexpr int64_t kOutputsPerTile = 16;

struct Folding {
  int64_t per_group;  // outputs of one group
  int64_t folded;     // groups in one block
  int64_t c1;         // channel tiles of a block
  Shape stored;
};

std::optional<int64_t> product(std::initializer_list<int64_t> factors) {
  return element_count(Shape(factors));
}

// How weights of these sizes are stored; C counts the channels of one group, N the outputs of all.
std::optional<Folding> fold(const NamedShape& sizes, int64_t groups, int64_t n0, int64_t c0) {
  if (sizes['N'] % groups != 0) return std::nullopt;
  Folding result{};
  result.per_group = sizes['N'] / groups;
  // lcm(x, tile) / x groups fill whole tiles: tile / gcd(x, tile) of them.
  const int64_t for_c = c0 / std::gcd(sizes['C'], c0);
  const int64_t for_n = n0 / std::gcd(result.per_group, n0);
  const auto both = checked_mul(for_c / std::gcd(for_c, for_n), for_n);
  result.folded = both ? std::min(*both, groups) : groups;
  const auto channels = checked_mul(result.folded, sizes['C']);
  const auto outputs = checked_mul(result.folded, result.per_group);
  if (!channels || !outputs) return std::nullopt;
  result.c1 = ceil_div(*channels, c0);
  const int64_t n1 = ceil_div(*outputs, n0);
  const auto rows =
      product({ceil_div(groups, result.folded), sizes['D'], result.c1, sizes['H'], sizes['W']});
  if (!rows) return std::nullopt;
  result.stored = {*rows, n1, n0, c0};
  return result;
}

IndexMap place_folded(const NamedShape& sizes, int64_t groups, const Folding& folding) {
  if (element_count(sizes.sizes) == 0) return row_major_map(sizes.sizes);  // nothing lies anywhere
  const int64_t c0 = folding.stored[3];
  const int64_t row = folding.stored[1] * folding.stored[2] * c0;
  const int64_t plane = sizes['H'] * sizes['W'] * row;  // one channel tile
  IndexMap map;
  for (size_t i = 0; i < sizes.axes.size(); ++i) {
    const int64_t size = sizes.sizes[i];
    switch (sizes.axes[i]) {
      case 'N': map.axes.push_back(whole_axis(size, c0)); break;  // tiles of N0 follow each other
      case 'C': {
        AxisMap axis = split_axis(size * folding.folded, c0, plane, 1);
        axis.size = size;
        map.axes.push_back(axis);
        break;
      }
      case 'D': map.axes.push_back(whole_axis(size, folding.c1 * plane)); break;
      case 'H': map.axes.push_back(whole_axis(size, sizes['W'] * row)); break;
      case 'W': map.axes.push_back(whole_axis(size, row)); break;
    }
  }
  if (groups > 1)
    map.groups =
        GroupMap{sizes.axes.find('N'), sizes.axes.find('C'), folding.per_group,
                 sizes['C'],           folding.folded,       sizes['D'] * folding.c1 * plane};
  return map;
}

std::optional<IndexMap> place_if_fits(const LayoutKind&, int groups, const NamedShape& sizes,
                                      const Shape& stored) {
  const auto folding = fold(sizes, groups, stored[2], stored[3]);
  if (!folding || folding->stored != stored) return std::nullopt;
  return place_folded(sizes, groups, *folding);
}

}  // namespace

Result<IndexMap> read_fractal_z(const LayoutKind& kind, int groups, const Shape& stored,
                                const std::optional<Shape>& logical, std::string_view order) {
  if (stored.size() != 4 || stored[2] == 0 || stored[3] == 0)
    return not_its_shape(kind, stored, "(D * C1 * H * W, N1, N0, C0)");
  if (!logical)
    return Error{fmt::format("layout {} needs the logical shape", kind.name),
                 fmt::format("stored {} does not tell height from width", to_string(stored)),
                 "give the shape of the weights, or read them as stored"};
  const auto found = fit(kind, groups, stored, *logical, kind.axes, false, place_if_fits);
  if (!found)
    return does_not_fit(
        kind, stored, *logical,
        fmt::format("in no axis order do weights of {} groups fill tiles of {} x {}", groups,
                    stored[2], stored[3]));
  if (!names_axes(order)) return found->map;
  return permuted(kind, *found, order);
}

Result<StoredAs> store_fractal_z(const LayoutKind& kind, int groups, const Shape& logical,
                                 std::string_view order, int64_t c0) {
  auto sizes = named_shape(kind, logical, order, kind.axes);
  if (!sizes) return sizes.error();
  if (c0 < 1 || !element_count(logical)) return impossible_storage(kind, logical, c0);
  const auto folding = fold(*sizes, groups, kOutputsPerTile, c0);
  if (!folding || !element_count(folding->stored)) return impossible_storage(kind, logical, c0);
  return StoredAs{folding->stored, place_folded(*sizes, groups, *folding)};
}

}  // namespace plumb
