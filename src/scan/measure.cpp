// SPDX-License-Identifier: Apache-2.0
#include "scan/measure.h"

#include <algorithm>
#include <mutex>

#include <tbb/parallel_for.h>

namespace plumb::scan {
namespace {

using metrics::kStatsPiece;
using metrics::TensorStats;

constexpr int64_t kPiecesPerTask = 16;

// The statistics of the pieces [first, last), one each, into `out`.
Result<void> measure_pieces(io::TensorReader& reader, int64_t first, int64_t last,
                            const RunContext& context, std::vector<TensorStats>& out) {
  for (int64_t piece = first; piece < last && !context.cancelled; ++piece) {
    const int64_t begin = piece * kStatsPiece;
    const int64_t count = std::min(kStatsPiece, reader.count() - begin);
    auto bytes = reader.read(begin, count);
    if (!bytes) return bytes.error();
    out[static_cast<size_t>(piece)] = metrics::stats_of(reader.dtype(), bytes->data(), count);
    context.advance(std::ssize(*bytes));
  }
  return {};
}

Result<void> fill_histogram(io::TensorReader& reader, metrics::Histogram& histogram) {
  constexpr int64_t kRun = 4096;
  const int64_t runs = ceil_div(reader.count(), kRun);
  const int64_t step = std::max<int64_t>(1, ceil_div(runs, kHistogramSample / kRun));
  for (int64_t run = 0; run < runs; run += step) {
    const int64_t begin = run * kRun;
    const int64_t count = std::min(kRun, reader.count() - begin);
    auto bytes = reader.read(begin, count);
    if (!bytes) return bytes.error();
    histogram.add(reader.dtype(), bytes->data(), count);
  }
  return {};
}

}  // namespace

Result<std::optional<Measured>> measure(const dump::DumpSet& set, const dump::Entry& entry,
                                        const io::ReadHints& hints, const RunContext& context) {
  const auto in_file = [&](Error& error) {
    return std::move(error).in((set.root / entry.parts.front().file).string());
  };
  auto opened = dump::EntryReader::open(set, entry, hints);
  if (!opened) return opened.error();
  io::TensorReader& reader = opened->reader();
  Measured measured{reader.dtype(), reader.shape(), {}, {}};

  const int64_t pieces = ceil_div(reader.count(), kStatsPiece);
  std::vector<TensorStats> parts(static_cast<size_t>(pieces));
  if (reader.is_random_access() && pieces >= 2 * kPiecesPerTask) {
    std::mutex guard;
    std::optional<Error> failure;
    tbb::parallel_for(int64_t{0}, ceil_div(pieces, kPiecesPerTask), [&](int64_t task) {
      const int64_t first = task * kPiecesPerTask;
      auto own = opened->again();
      if (!own) {
        std::lock_guard lock(guard);
        if (!failure) failure = Error{own.error().what, "", own.error().remedy};
        return;
      }
      auto done = measure_pieces(own->reader(), first, std::min(pieces, first + kPiecesPerTask),
                                 context, parts);
      if (done) done = own->check_intact();
      std::lock_guard lock(guard);
      if (!done && !failure) failure = done.error();
    });
    if (failure) return in_file(*failure);
  } else if (auto done = measure_pieces(reader, 0, pieces, context, parts); !done) {
    return in_file(done.error());
  }
  if (context.cancelled) return std::optional<Measured>();

  for (const TensorStats& part : parts) measured.stats.append(part);
  measured.histogram.low = static_cast<double>(measured.stats.min);
  measured.histogram.high = static_cast<double>(measured.stats.max);
  if (auto done = fill_histogram(reader, measured.histogram); !done) return in_file(done.error());
  if (auto intact = opened->check_intact(); !intact) return intact.error();
  return std::optional(std::move(measured));
}

}  // namespace plumb::scan
