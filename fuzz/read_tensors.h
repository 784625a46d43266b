// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target of a tensor file format does with its bytes: list them, then read the tensors
// up to a limit that keeps a run short.
#pragma once

#include <algorithm>

#include "io/format.h"
#include "io/reader.h"

namespace plumb::io {

inline void read_tensors(const Format& format, Bytes file) {
  int64_t bytes_left = 64 << 20;
  (void)format.probe(file.first(std::min(file.size(), kProbeBytes)), file.size());
  auto listing = format.list(file, {});
  if (!listing) return;
  for (const TensorInfo& info : listing->tensors) {
    auto reader = TensorReader::open(format, file, info);
    if (!reader) continue;
    const int64_t item = bits_of(reader->dtype()) / 8;
    for (int64_t first = 0; first < reader->count() && bytes_left > 0;) {
      const int64_t count = std::min<int64_t>(reader->count() - first, 65536 / item);
      auto piece = reader->read(first, count);
      if (!piece) break;
      if (piece->size() != static_cast<size_t>(count * item)) __builtin_trap();
      first += count;
      bytes_left -= count * item;
    }
  }
}

}  // namespace plumb::io
