// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target of a tensor file format does: probe, list, and read each tensor both ways,
// up to a limit that keeps a run short (a deflated or expanded tensor may be far larger than its
// file).
#pragma once

#include <algorithm>

#include "io/reader.h"
#include "must_hold.h"

namespace plumb::io {

inline void read_format(std::string_view name, Bytes file, std::string_view file_name = {}) {
  const Format& format = *format_by_name(name);
  ReadHints hints;
  hints.file_name = file_name;
  format.probe(file.first(std::min(file.size(), kProbeBytes)), file.size());
  auto listing = format.list(file, hints);
  if (!listing) return must_hold(!listing.error().what.empty() && !listing.error().where.empty());
  int64_t bytes_left = 64 << 20;
  for (const TensorInfo& info : listing->tensors) {
    for (bool stored : {true, false}) {
      ReadOrder order;
      order.stored = stored;
      auto reader = TensorReader::open(format, file, info, order);
      if (!reader) continue;
      // Eight bits to a byte: nothing that simply lies there has more elements than that.
      if (info.packing == Packing::kPlain && info.strides.empty())
        must_hold(reader->count() <= static_cast<int64_t>(file.size()) * 8);
      const int64_t item = bits_of(reader->dtype()) / 8;
      for (int64_t first = 0; first < reader->count() && bytes_left > 0;) {
        const int64_t count = std::min<int64_t>(reader->count() - first, 65536 / item);
        auto piece = reader->read(first, count);
        if (!piece) break;
        must_hold(std::ssize(*piece) == count * item);
        first += count;
        bytes_left -= count * item;
      }
    }
  }
}

}  // namespace plumb::io
