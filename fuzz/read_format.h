// SPDX-License-Identifier: Apache-2.0
//
// What every fuzz target of a tensor file format does: probe, list, and read each tensor both ways.
#pragma once

#include <cstdlib>

#include "io/reader.h"

namespace plumb::io {

inline void check(bool holds) {
  if (!holds) std::abort();
}

inline void read_format(std::string_view name, Bytes file, std::string_view file_name = {}) {
  const Format& format = *format_by_name(name);
  ReadHints hints;
  hints.file_name = file_name;
  format.probe(file.first(std::min(file.size(), kProbeBytes)), file.size());
  auto listing = format.list(file, hints);
  if (!listing) return check(!listing.error().what.empty() && !listing.error().where.empty());
  for (const TensorInfo& info : listing->tensors)
    for (bool stored : {true, false}) {
      ReadOrder order;
      order.stored = stored;
      auto reader = TensorReader::open(format, file, info, order);
      if (!reader) continue;
      // Eight bits to a byte: no listed tensor has more elements than that.
      check(reader->count() <= static_cast<int64_t>(file.size()) * 8);
      check(for_each_piece(*reader, [](Bytes, int64_t, int64_t) {}).ok());
    }
}

}  // namespace plumb::io
