// SPDX-License-Identifier: Apache-2.0
//
// FRACTAL_NZ: matrices in tiles of M0 x N0, the tiles column by column. A logical (..., M, N) is
// stored as (..., N1, M1, M0, N0); the axes have no names, so an axis order cannot be asked for.
#include <fmt/format.h>

#include "base/checked.h"
#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

constexpr int64_t kRowsPerTile = 16;

// The batch axes of `shape`, which ends in `matrix_rank` others. A vector is one row, a scalar one
// cell.
Shape batch_of(const Shape& shape, size_t matrix_rank) {
  return shape.size() <= matrix_rank
             ? Shape{}
             : Shape(shape.begin(), shape.end() - static_cast<int64_t>(matrix_rank));
}

// Batches agree if they differ in axes of length 1 only, or if one of them is the other flattened.
bool same_batch(const Shape& a, const Shape& b) {
  const Shape x = squeezed(a), y = squeezed(b);
  return x == y || ((x.size() <= 1 || y.size() <= 1) && element_count(x) == element_count(y));
}

IndexMap place_tiles(const Shape& logical, const Shape& stored) {
  if (element_count(logical) == 0) return row_major_map(logical);  // nothing lies anywhere
  const size_t last = stored.size() - 1;
  const int64_t n0 = stored[last];
  const Shape strides = row_major_strides(stored);
  const Shape batch = batch_of(logical, 2);
  const Shape batch_strides = row_major_strides(batch);
  const int64_t matrix = stored[last] * stored[last - 1] * stored[last - 2] * stored[last - 3];
  IndexMap map;
  for (size_t i = 0; i < batch.size(); ++i)
    map.axes.push_back(whole_axis(batch[i], batch_strides[i] * matrix));
  if (logical.size() >= 2)  // tiles of M0 follow each other
    map.axes.push_back(whole_axis(logical[logical.size() - 2], n0));
  if (!logical.empty()) map.axes.push_back(split_axis(logical.back(), n0, strides[last - 3], 1));
  return map;
}

}  // namespace

Result<IndexMap> read_fractal_nz(const LayoutKind& kind, int, const Shape& stored,
                                 const std::optional<Shape>& logical, std::string_view) {
  const size_t rank = stored.size();
  if (rank < 4 || stored[rank - 1] == 0 || stored[rank - 2] == 0)
    return not_its_shape(kind, stored, "(..., N1, M1, M0, N0)");
  const int64_t n1 = stored[rank - 4], m1 = stored[rank - 3], m0 = stored[rank - 2],
                n0 = stored[rank - 1];
  if (!logical) {
    Shape padded = batch_of(stored, 4);
    padded.push_back(m1 * m0);
    padded.push_back(n1 * n0);
    return place_tiles(padded, stored);
  }
  const int64_t n = logical->empty() ? 1 : logical->back();
  const int64_t m = logical->size() < 2 ? 1 : (*logical)[logical->size() - 2];
  if (ceil_div(m, m0) != m1 || ceil_div(n, n0) != n1)
    return does_not_fit(
        kind, stored, *logical,
        fmt::format("{} x {} tiles of {} x {} cannot hold exactly {} x {}", m1, n1, m0, n0, m, n));
  if (!same_batch(batch_of(*logical, 2), batch_of(stored, 4)))
    return does_not_fit(kind, stored, *logical, "the batch axes differ");
  return place_tiles(*logical, stored);
}

Result<StoredAs> store_fractal_nz(const LayoutKind& kind, int, const Shape& logical,
                                  std::string_view, int64_t c0) {
  if (c0 < 1 || !element_count(logical)) return impossible_storage(kind, logical, c0);
  Shape stored = batch_of(logical, 2);
  stored.push_back(ceil_div(logical.empty() ? 1 : logical.back(), c0));
  stored.push_back(ceil_div(logical.size() < 2 ? 1 : logical[logical.size() - 2], kRowsPerTile));
  stored.push_back(kRowsPerTile);
  stored.push_back(c0);
  if (!element_count(stored)) return impossible_storage(kind, logical, c0);
  return StoredAs{stored, place_tiles(logical, stored)};
}

}  // namespace plumb
