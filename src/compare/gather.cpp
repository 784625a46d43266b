// SPDX-License-Identifier: Apache-2.0
#include "compare/gather.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base/crc32.h"
#include "metrics/decoded_pairs.h"
#include "metrics/limits.h"
#include "metrics/max_ulp.h"

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
  all.exponent = pass.exponent;
  return all;
}

// The values of a side that are at the limit of its type.
struct LimitCount {
  metrics::Limits limits;
  int64_t count = 0;
  void add(const double* values, int64_t n) {
    count += metrics::at_limit_block(values, n, limits.low, limits.high);
  }
};

// What only a second reading can tell, all of it in one.
struct Details {
  std::optional<metrics::CentredSums> centred;
  std::optional<metrics::BulkSums> bulk;
  std::optional<metrics::KlSums> kl;
  std::optional<int64_t> max_ulp;
  std::optional<Checksum> target_crc32, golden_crc32;
  std::optional<LimitCount> target_limit, golden_limit;

  bool any() const { return any_in_blocks() || max_ulp || target_crc32 || golden_crc32; }

  void add(const PairPiece& piece) {
    if (any_in_blocks())
      metrics::for_each_block(piece, [this](const double* t, const double* g, int64_t n) {
        if (centred) centred->add(t, g, n);
        if (bulk) bulk->add(t, g, n);
        if (kl) kl->add(t, g, n);
        if (target_limit) target_limit->add(t, n);
        if (golden_limit) golden_limit->add(g, n);
      });
    if (max_ulp) max_ulp = std::max(*max_ulp, metrics::max_ulp(piece));
    if (target_crc32) target_crc32->add(bytes_of(piece.target, piece.target_dtype, piece.count));
    if (golden_crc32) golden_crc32->add(bytes_of(piece.golden, piece.golden_dtype, piece.count));
  }
  void append(const Details& later) {
    if (centred) centred->append(*later.centred);
    if (bulk) bulk->append(*later.bulk);
    if (kl) kl->append(*later.kl);
    if (max_ulp) max_ulp = std::max(*max_ulp, *later.max_ulp);
    if (target_crc32) target_crc32->append(*later.target_crc32);
    if (golden_crc32) golden_crc32->append(*later.golden_crc32);
    if (target_limit) target_limit->count += later.target_limit->count;
    if (golden_limit) golden_limit->count += later.golden_limit->count;
  }

 private:
  bool any_in_blocks() const { return centred || bulk || kl || target_limit || golden_limit; }
  static Bytes bytes_of(const std::byte* data, DType dtype, int64_t count) {
    return {data, static_cast<size_t>(count * (bits_of(dtype) / 8))};
  }
};

// An accumulator for each chunk, merged in order.
Result<void> second_pass(dump::EntryReader& target, dump::EntryReader& golden,
                         const RunContext& context, Details& details) {
  const Details fresh = details;
  std::vector<std::optional<Details>> parts(kWindow);
  return for_each_pair_piece(
      target, golden, context, false,
      [&](size_t chunk, int64_t, const PairPiece& piece) {
        if (!parts[chunk]) parts[chunk] = fresh;
        parts[chunk]->add(piece);
      },
      [&](size_t chunk) {
        details.append(*parts[chunk]);
        parts[chunk].reset();
      });
}

}  // namespace

Passes Passes::for_metrics(std::span<const metrics::Metric* const> wanted) {
  Passes passes;
  for (const metrics::Metric* metric : wanted) {
    passes.relative |= metric->needs == metrics::Needs::kRelative;
    passes.kl |= metric->needs == metrics::Needs::kKl;
    passes.ulp |= metric->needs == metrics::Needs::kUlp;
    passes.crc32 |= metric->needs == metrics::Needs::kCrc32;
    passes.limits |= metric->needs == metrics::Needs::kLimits;
    passes.bulk |= metric->needs == metrics::Needs::kBulk;
  }
  return passes;
}

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
                                        const Passes& passes, const RunContext& context) {
  PairFacts facts;
  facts.target_dtype = target.reader().dtype();
  facts.golden_dtype = golden.reader().dtype();
  facts.target_is_dequantized = kind_of(target.info().dtype) == DKind::kInteger &&
                                kind_of(facts.target_dtype) == DKind::kFloat;
  const metrics::PairPass pass{passes.relative};
  auto sums = first_pass(target, golden, pass, context, true);
  if (sums && !context.cancelled) {
    if (const auto better = metrics::better_pass(*sums, pass))
      sums = first_pass(target, golden, *better, context, false);
  }
  if (!sums) return sums.error();
  facts.sums = *sums;

  Details details;
  if (metrics::needs_centring(*sums)) details.centred.emplace(*sums);
  if (passes.bulk &&
      (passes.bulk_exactly || !metrics::bulk_bound(*sums) || !metrics::off_bound(*sums)))
    details.bulk.emplace(*sums, facts.target_dtype, facts.golden_dtype);
  if (passes.kl) details.kl.emplace(*sums);
  if (passes.ulp) details.max_ulp = 0;
  if (passes.crc32) details.target_crc32 = details.golden_crc32 = Checksum();
  if (passes.limits) {
    // Of the types as stored: int4 ends before the int8 it is read as.
    const auto t_limits =
        metrics::limits_of(facts.target_is_dequantized ? facts.target_dtype : target.info().dtype);
    const auto g_limits = metrics::limits_of(golden.info().dtype);
    facts.target_at_limit = metrics::target_at_limit_by_sums(*sums, t_limits);
    facts.golden_at_limit = metrics::golden_at_limit_by_sums(*sums, g_limits);
    if (!facts.target_at_limit) details.target_limit = LimitCount{*t_limits};
    if (!facts.golden_at_limit) details.golden_limit = LimitCount{*g_limits};
  }
  if (details.any() && !context.cancelled) {
    if (auto done = second_pass(target, golden, context, details); !done) return done.error();
  }
  if (context.cancelled) return std::optional<PairFacts>();
  facts.centred = std::move(details.centred);
  facts.bulk = std::move(details.bulk);
  facts.kl = std::move(details.kl);
  facts.max_ulp = details.max_ulp;
  if (passes.crc32) {
    facts.target_crc32 = details.target_crc32->value();
    facts.golden_crc32 = details.golden_crc32->value();
  }
  if (details.target_limit) facts.target_at_limit = details.target_limit->count;
  if (details.golden_limit) facts.golden_at_limit = details.golden_limit->count;
  return std::optional(std::move(facts));
}

}  // namespace plumb::compare
