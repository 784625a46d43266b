// SPDX-License-Identifier: Apache-2.0
#include "metrics/measure.h"

#include <algorithm>
#include <mutex>

#include "base/crc32.h"
#include "base/parallel.h"

namespace plumb::metrics {
namespace {

constexpr int64_t kPiecesPerTask = 16;

// Calls use(number, bytes, count) for the pieces [first, last) of kStatsPiece elements, in order.
template <class Use>
Result<void> for_pieces(const PieceSource& source, int64_t first, int64_t last,
                        const RunContext& context, Use&& use) {
  for (int64_t piece = first; piece < last && !context.cancelled; ++piece) {
    const int64_t begin = piece * kStatsPiece;
    const int64_t count = std::min(kStatsPiece, source.count - begin);
    auto bytes = source.read(begin, count);
    if (!bytes) return bytes.error();
    use(piece, *bytes, count);
    context.advance(std::ssize(*bytes));
  }
  return source.check ? source.check() : Result<void>();
}

// Each task reads its share by a source of its own; the statistics merge in the order of pieces.
Result<void> measure_at_once(const PieceSource& source, int64_t pieces, const RunContext& context,
                             TensorStats& stats) {
  std::vector<TensorStats> parts(static_cast<size_t>(pieces));
  std::mutex guard;
  std::optional<Error> failure;
  for_each_index(static_cast<size_t>(ceil_div(pieces, kPiecesPerTask)), [&](size_t task) {
    const int64_t first = static_cast<int64_t>(task) * kPiecesPerTask;
    const auto own = source.again();
    const auto done =
        own ? for_pieces(*own, first, std::min(pieces, first + kPiecesPerTask), context,
                         [&](int64_t piece, Bytes bytes, int64_t count) {
                           parts[static_cast<size_t>(piece)] =
                               stats_of(source.dtype, bytes.data(), count);
                         })
            : Result<void>(own.error());
    std::lock_guard lock(guard);
    if (!done && !failure) failure = done.error();
  });
  if (failure) return *failure;
  for (const TensorStats& part : parts) stats.append(part);
  return {};
}

Result<void> fill_histogram(const PieceSource& source, Histogram& histogram) {
  constexpr int64_t kRun = 4096;
  const int64_t runs = ceil_div(source.count, kRun);
  const int64_t step = std::max<int64_t>(1, ceil_div(runs, kHistogramSample / kRun));
  for (int64_t run = 0; run < runs; run += step) {
    const int64_t begin = run * kRun;
    const int64_t count = std::min(kRun, source.count - begin);
    auto bytes = source.read(begin, count);
    if (!bytes) return bytes.error();
    histogram.add(source.dtype, bytes->data(), count);
  }
  return source.check ? source.check() : Result<void>();
}

bool has_sketch(DType dtype) {
  return kind_of(dtype) != DKind::kOpaque && kind_of(dtype) != DKind::kComplex;
}

}  // namespace

Result<std::optional<Measured>> measure(const PieceSource& source, const Extras& extras,
                                        const RunContext& context) {
  Measured measured;
  measured.dtype = source.dtype;
  measured.shape = source.shape;
  const bool sketch = extras.sketch && has_sketch(source.dtype);
  const bool in_order = extras.checksum || extras.sketch;
  const int64_t pieces = ceil_div(source.count, kStatsPiece);
  if (!in_order && source.again && pieces >= 2 * kPiecesPerTask) {
    auto done = measure_at_once(source, pieces, context, measured.stats);
    if (!done) return done.error();
  } else {
    Sketcher sketcher;
    uint32_t crc = 0;
    auto done = for_pieces(source, 0, pieces, context, [&](int64_t, Bytes bytes, int64_t count) {
      measured.stats.append(stats_of(source.dtype, bytes.data(), count));
      if (in_order) crc = crc32(crc, bytes);
      if (sketch) sketcher.add(source.dtype, bytes.data(), count);
    });
    if (!done) return done.error();
    if (in_order) measured.crc32 = crc;
    if (sketch) measured.sketch = sketcher.finish(measured.stats, crc);
  }
  if (context.cancelled) return std::optional<Measured>();
  if (extras.histogram) {
    measured.histogram.low = static_cast<double>(measured.stats.min);
    measured.histogram.high = static_cast<double>(measured.stats.max);
    if (auto done = fill_histogram(source, measured.histogram); !done) return done.error();
  }
  return std::optional(std::move(measured));
}

FullStatistics full_statistics(const Measured& measured) {
  const TensorStats& stats = measured.stats;
  FullStatistics s;
  s.dtype = name_of(measured.dtype);
  s.shape = measured.shape;
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
  s.crc32 = measured.crc32;
  return s;
}

}  // namespace plumb::metrics
