// SPDX-License-Identifier: Apache-2.0
#include "scan/summary.h"

#include <algorithm>

#include "base/crc32.h"

namespace plumb::scan {

using metrics::kStatsPiece;

dump::FullStatistics full_statistics(DType dtype, const Shape& shape,
                                     const metrics::TensorStats& stats) {
  dump::FullStatistics s;
  s.dtype = name_of(dtype);
  s.shape = shape;
  s.count = stats.count;
  s.nan = stats.nan;
  s.positive_inf = stats.positive_inf;
  s.negative_inf = stats.negative_inf;
  s.zeros = stats.zeros;
  s.min = stats.min;
  s.max = stats.max;
  s.mean = stats.mean;
  s.std = stats.standard_deviation();
  s.l2 = stats.l2();
  return s;
}

Result<std::optional<TensorSummary>> summarise(io::TensorReader& reader, bool sketch,
                                               const RunContext& context) {
  const DType dtype = reader.dtype();
  sketch &= kind_of(dtype) != DKind::kOpaque && kind_of(dtype) != DKind::kComplex;
  metrics::TensorStats stats;
  metrics::Sketcher sketcher;
  uint32_t crc = 0;
  for (int64_t first = 0; first < reader.count(); first += kStatsPiece) {
    if (context.cancelled) return std::optional<TensorSummary>();
    const int64_t count = std::min(kStatsPiece, reader.count() - first);
    auto piece = reader.read(first, count);
    if (!piece) return piece.error();
    stats.append(metrics::stats_of(dtype, piece->data(), count));
    crc = crc32(crc, *piece);
    if (sketch) sketcher.add(dtype, piece->data(), count);
    context.advance(std::ssize(*piece));
  }
  TensorSummary summary;
  summary.statistics = full_statistics(dtype, reader.shape(), stats);
  summary.statistics.crc32 = crc;
  if (sketch) summary.sketch = sketcher.finish(stats, crc);
  return std::optional(std::move(summary));
}

Result<std::optional<TensorSummary>> summarise(const dump::DumpSet& set, const dump::Entry& entry,
                                               const io::ReadHints& hints, bool sketch,
                                               const RunContext& context) {
  auto opened = dump::EntryReader::open(set, entry, hints);
  if (!opened) return opened.error();
  auto summary = summarise(opened->reader(), sketch, context);
  if (!summary) return std::move(summary.error()).in(opened->path());
  if (auto intact = opened->check_intact(); !intact) return intact.error();
  return summary;
}

Result<std::optional<metrics::Sketch>> recorded_sketch(const dump::DumpSet& set,
                                                       const dump::Entry& entry) {
  if (!entry.statistics || !entry.statistics->has_sketch) return std::optional<metrics::Sketch>();
  const auto path = set.root / entry.record;
  auto bytes = dump::read_sketch(path, entry.slot);
  if (!bytes) return bytes.error();
  auto sketch = metrics::sketch_from_bytes(*bytes);
  if (!sketch) return std::move(sketch.error()).in(path.string());
  return std::optional(std::move(*sketch));
}

}  // namespace plumb::scan
