// SPDX-License-Identifier: Apache-2.0
//
// Moving elements through an index map.
#include <algorithm>
#include <cstring>

#include "tensor/layout/layout_kind.h"

namespace plumb {
namespace {

template <class Move>
void for_each_element(const IndexMap& map, int64_t first, int64_t count, Move&& move) {
  if (count == 0) return;
  std::vector<int64_t> index(map.axes.size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = first % map.axes[i].size;
    first /= map.axes[i].size;
  }
  for (int64_t k = 0; k < count; ++k) {
    move(k, map.offset(index));
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < map.axes[i].size) break;
      index[i] = 0;
    }
  }
}

}  // namespace

void gather(const IndexMap& map, size_t item_bytes, const std::byte* stored, int64_t first,
            int64_t count, std::byte* out) {
  for_each_element(map, first, count, [&](int64_t k, int64_t at) {
    std::memcpy(out + static_cast<size_t>(k) * item_bytes,
                stored + static_cast<size_t>(at) * item_bytes, item_bytes);
  });
}

void scatter(const IndexMap& map, size_t item_bytes, const std::byte* plain, std::byte* stored) {
  for_each_element(map, 0, *element_count(map.shape()), [&](int64_t k, int64_t at) {
    std::memcpy(stored + static_cast<size_t>(at) * item_bytes,
                plain + static_cast<size_t>(k) * item_bytes, item_bytes);
  });
}

}  // namespace plumb
