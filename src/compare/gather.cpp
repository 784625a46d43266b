// SPDX-License-Identifier: Apache-2.0
#include "compare/gather.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base/crc32.h"

namespace plumb::compare {
namespace {

using metrics::kPairPiece;
using metrics::PairFacts;
using metrics::PairPiece;
using metrics::PairSums;

constexpr int64_t kChunk = kPiecesPerChunk * kPairPiece;
constexpr int64_t kChecksumPiece = 1 << 18;  // elements

Result<void> read_chunk(dump::EntryReader& target_entry, dump::EntryReader& golden_entry,
                        int64_t begin, const RunContext& context, bool counts_as_progress,
                        size_t chunk, const PieceWork& work) {
  io::TensorReader& target = target_entry.reader();
  io::TensorReader& golden = golden_entry.reader();
  const int64_t end = std::min(target.count(), begin + kChunk);
  for (int64_t first = begin; first < end && !context.cancelled; first += kPairPiece) {
    const int64_t count = std::min(kPairPiece, end - first);
    auto t = target.read(first, count);
    if (!t) return std::move(t.error()).in(target_entry.path());
    auto g = golden.read(first, count);
    if (!g) return std::move(g.error()).in(golden_entry.path());
    work(chunk, first, {target.dtype(), t->data(), golden.dtype(), g->data(), count});
    if (counts_as_progress) context.advance(std::ssize(*t) + std::ssize(*g));
  }
  if (auto intact = target_entry.check_intact(); !intact) return intact;
  return golden_entry.check_intact();
}

}  // namespace

Result<void> check_pair(dump::EntryReader& target_entry, dump::EntryReader& golden_entry) {
  const io::TensorReader& target = target_entry.reader();
  const io::TensorReader& golden = golden_entry.reader();
  const DKind t = kind_of(target.dtype()), g = kind_of(golden.dtype());
  const bool comparable = t != DKind::kOpaque && g != DKind::kOpaque &&
                          (t == DKind::kComplex) == (g == DKind::kComplex);
  if (comparable && target.count() == golden.count()) return {};
  return Error{
      "the tensors cannot be compared element by element",
      fmt::format("{} is {} {}, {} is {} {}", target_entry.path(), dtype_text(target_entry.info()),
                  to_string(target.shape()), golden_entry.path(), dtype_text(golden_entry.info()),
                  to_string(golden.shape())),
      "choose two of the same size and kind"};
}

Result<void> for_each_pair_piece(dump::EntryReader& target, dump::EntryReader& golden,
                                 const RunContext& context, bool counts_as_progress,
                                 const PieceWork& work,
                                 const std::function<void(size_t chunk)>& merge,
                                 int64_t window_chunks) {
  if (auto checked = check_pair(target, golden); !checked) return checked;
  const int64_t chunks = ceil_div(target.reader().count(), kChunk);
  const bool parallel =
      chunks > 1 && target.reader().is_random_access() && golden.reader().is_random_access();
  for (int64_t window = 0; window < chunks && !context.cancelled; window += window_chunks) {
    const int64_t count = std::min(window_chunks, chunks - window);
    std::mutex guard;
    std::optional<Error> failure;  // of the first chunk that has one, whoever comes first
    int64_t failed = count;
    const auto fail = [&](int64_t chunk, Error error) {
      std::lock_guard lock(guard);
      if (chunk >= failed) return;
      failed = chunk;
      failure = std::move(error);
    };
    const auto run = [&](int64_t chunk, dump::EntryReader& t, dump::EntryReader& g) {
      auto done = read_chunk(t, g, (window + chunk) * kChunk, context, counts_as_progress,
                             static_cast<size_t>(chunk), work);
      if (!done) fail(chunk, std::move(done.error()));
    };
    if (!parallel) {
      for (int64_t chunk = 0; chunk < count && !failure; ++chunk) run(chunk, target, golden);
    } else {
      // Isolated: a thread that waits here must not start on another large pair meanwhile.
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(int64_t{0}, count, [&](int64_t chunk) {
          auto t = target.again();
          auto g = golden.again();
          if (t && g) return run(chunk, *t, *g);
          fail(chunk, t ? g.error() : t.error());
        });
      });
    }
    if (failure) return *failure;
    if (context.cancelled) return {};  // chunks may be missing
    for (int64_t chunk = 0; chunk < count; ++chunk) merge(static_cast<size_t>(chunk));
  }
  return {};
}

namespace {

Result<PairSums> first_pass(dump::EntryReader& target, dump::EntryReader& golden,
                            const metrics::PairPass& pass, const RunContext& context,
                            bool counts_as_progress) {
  PairSums all;
  std::vector<std::vector<PairSums>> parts(kWindow);
  auto done = for_each_pair_piece(
      target, golden, context, counts_as_progress,
      [&](size_t chunk, int64_t, const PairPiece& piece) {
        parts[chunk].push_back(metrics::pair_sums(piece, pass));
      },
      [&](size_t chunk) {
        for (const PairSums& part : parts[chunk]) all.append(part);
        parts[chunk].clear();
      });
  if (!done) return done.error();
  all.has_relative = pass.relative;
  all.has_shares = pass.relative || pass.shares;
  all.exponent = pass.exponent;
  return all;
}

// Quantities of their own for each chunk, merged in order.
Result<void> read_again(dump::EntryReader& target, dump::EntryReader& golden,
                        const RunContext& context, metrics::SecondPass& all) {
  const metrics::SecondPass fresh = all;
  std::vector<std::optional<metrics::SecondPass>> parts(kWindow);
  return for_each_pair_piece(
      target, golden, context, false,
      [&](size_t chunk, int64_t, const PairPiece& piece) {
        if (!parts[chunk]) parts[chunk] = fresh;
        parts[chunk]->add(piece);
      },
      [&](size_t chunk) {
        all.append(*parts[chunk]);
        parts[chunk].reset();
      });
}

}  // namespace

Result<std::optional<uint32_t>> checksum(dump::EntryReader& tensor, const RunContext& context) {
  auto again = tensor.again();
  if (!again) return again.error();
  io::TensorReader& reader = again->reader();
  uint32_t crc = 0;
  for (int64_t first = 0; first < reader.count(); first += kChecksumPiece) {
    if (context.cancelled) return std::optional<uint32_t>();
    auto piece = reader.read(first, std::min(kChecksumPiece, reader.count() - first));
    if (!piece) return std::move(piece.error()).in(tensor.path());
    crc = crc32(crc, *piece);
  }
  if (auto intact = again->check_intact(); !intact) return intact.error();
  return std::optional(crc);
}

Result<std::optional<PairFacts>> gather(dump::EntryReader& target, dump::EntryReader& golden,
                                        const metrics::Request& request,
                                        const RunContext& context) {
  const metrics::PairPass pass{.relative = request.relative, .shares = request.shares};
  auto sums = first_pass(target, golden, pass, context, true);
  if (sums && !context.cancelled) {
    if (const auto better = metrics::better_pass(*sums, pass))
      sums = first_pass(target, golden, *better, context, false);
  }
  if (!sums) return sums.error();

  PairFacts facts;
  facts.target_dtype = target.reader().dtype();
  facts.golden_dtype = golden.reader().dtype();
  facts.target_stored = target.info().dtype;
  facts.golden_stored = golden.info().dtype;
  facts.sums = *sums;
  facts.second_pass = {request, facts};
  if (facts.second_pass.is_needed() && !context.cancelled) {
    if (auto done = read_again(target, golden, context, facts.second_pass); !done)
      return done.error();
  }
  if (context.cancelled) return std::optional<PairFacts>();
  return std::optional(std::move(facts));
}

}  // namespace plumb::compare
