// SPDX-License-Identifier: Apache-2.0
//
// Memory layouts, each described once against the plain (row-major, logical) order. A description
// is an IndexMap: for every logical axis, where its positions lie in storage. The same map serves
// streaming reads (`gather`, a range of logical elements at a time, no transposed copy) and
// conversion in both directions (`gather` all of it, or `scatter` into zeroed storage).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"
#include "tensor/shape.h"

namespace plumb {

// A layout is the number device dumps use for it (2 = ND, plain order with unnamed axes), plus the
// group count that FRACTAL_Z weights of grouped convolutions carry. Unknown numbers are kept.
struct Layout {
  int number = 2;
  int groups = 1;
  bool operator==(const Layout&) const = default;
};
inline constexpr Layout kPlainLayout{};

struct LayoutKind;  // one row of the table in layouts.cpp

std::string name_of(Layout layout);  // "NC1HWC0", or "format 77" for a number without a name
std::optional<Layout> layout_from_name(std::string_view name);
std::vector<std::string>
layout_names();  // for help texts and "did you mean"; only convertible ones

// True if the stored shape is the logical shape in some axis order, without blocks or padding.
bool is_plain(Layout layout);

// One logical axis: position i lies at (i / block) * outer + (i % block) * inner elements.
// An axis that is not split has block == 1 and inner == 0.
struct AxisMap {
  int64_t size = 0;
  int64_t block = 1;
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t at(int64_t i) const { return i / block * outer + i % block * inner; }
};

// Grouped FRACTAL_Z: `folded` groups share one block of the storage, shifted along N and C.
// Position n of the axis `n_axis` belongs to group g = n / per_group; within it, the C position is
// read (g % folded) * channels further on, the N position as (g % folded) * per_group + n %
// per_group, and every `folded` groups the storage moves on by `block_stride`.
struct GroupMap {
  size_t n_axis = 0;
  size_t c_axis = 0;
  int64_t per_group = 0;
  int64_t channels = 0;
  int64_t folded = 1;
  int64_t block_stride = 0;
};

struct IndexMap {
  std::vector<AxisMap> axes;  // in logical order, the last varies fastest
  int64_t first = 0;          // storage position of element (0, 0, ...)
  std::optional<GroupMap> groups;

  Shape shape() const;
  bool is_identity() const;  // logical order is storage order
  int64_t offset(std::span<const int64_t> index) const;
};

// The map of elements at `first + sum(index[i] * strides[i])`. Fails if it leaves [0,
// stored_count).
Result<IndexMap> strided_map(const Shape& shape, const Shape& strides, int64_t first,
                             int64_t stored_count);
Shape column_major_strides(const Shape& shape);
Shape row_major_strides(const Shape& shape);

// How a tensor stored in `layout` with shape `stored` reads as the logical tensor `logical`, in the
// axis order in which `logical` is given (found by fitting: an original shape does not name its
// axes; `order`, e.g. "NHWC", decides where two orders fit). Without `logical` a blocked layout
// reads as its padded self in NCHW / NCDHW order. `order` alone asks for that axis order.
//   logical given, order empty      -> as recorded, whichever order fits (NCHW before NHWC before
//   HWCN) logical given, order given      -> resolved as above, then permuted to `order`
// Fails, saying why with the numbers, if the shapes do not fit or the layout is not understood.
Result<IndexMap> plain_map(Layout layout, const Shape& stored, const std::optional<Shape>& logical,
                           std::string_view order = {});
// The only layout with blocks in which a tensor of the shape `logical` has the shape `stored`.
std::optional<Layout> blocked_layout(const Shape& stored, const Shape& logical);

// The other direction: where a logical tensor with axes `order` (e.g. "NCHW"; ignored by
// FRACTAL_NZ) goes when stored in `layout` with `c0` channels to a block. The map's logical order
// is `order`.
struct StoredAs {
  Shape stored;
  IndexMap map;
};
Result<StoredAs> stored_as(Layout layout, const Shape& logical, std::string_view order, int64_t c0);

// Copies the logical elements [first, first + count) out of `stored`, in logical order.
void gather(const IndexMap& map, size_t item_bytes, const std::byte* stored, int64_t first,
            int64_t count, std::byte* out);
// Copies all logical elements of `plain` to their places in `stored`; padding is left untouched.
void scatter(const IndexMap& map, size_t item_bytes, const std::byte* plain, std::byte* stored);

}  // namespace plumb
