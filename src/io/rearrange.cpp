// SPDX-License-Identifier: Apache-2.0
#include "io/rearrange.h"

#include <algorithm>

namespace plumb::io {

Result<TensorReader> rearranged(TensorReader& source, const TensorInfo& info, Layout layout) {
  // The axes of the tensor as read: what its own layout calls them, else the usual ones for its
  // rank.
  std::string axes = name_of(info.layout);
  if (!is_plain(info.layout) || axes.size() != source.shape().size())
    axes = source.shape().size() == 5 ? "NCDHW" : "NCHW";
  layout.groups = info.layout.groups;
  const auto item = static_cast<size_t>(bits_of(source.dtype()) / 8);
  auto target = stored_as(layout, source.shape(), axes, item == 1 ? 32 : 16);
  if (!target) return target.error();

  std::vector<std::byte> plain(static_cast<size_t>(source.count()) * item);
  auto read = for_each_piece(source, [&](Bytes piece, int64_t first, int64_t) {
    std::copy(piece.begin(), piece.end(), plain.begin() + first * static_cast<int64_t>(item));
  });
  if (!read) return read.error();
  std::vector<std::byte> elements(static_cast<size_t>(*element_count(target->stored)) * item);
  scatter(target->map, item, plain.data(), elements.data());
  return TensorReader::from_memory(source.dtype(), target->stored, std::move(elements));
}

}  // namespace plumb::io
