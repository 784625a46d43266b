// SPDX-License-Identifier: Apache-2.0
//
// Streams two tensors of equal size through the fused kernel, on all cores if they are large, and
// once more where a wanted metric needs what only the first pass could tell. Memory is a few
// windows, whatever the tensors' size, and the digits do not depend on the number of threads.
#pragma once

#include <functional>

#include "dump/dump.h"
#include "metrics/close_share.h"
#include "metrics/detail_sums.h"
#include "metrics/metric.h"
#include "plumb/run_context.h"

namespace plumb::compare {

// What the same pass fills in beside the sums, if it is there.
struct Beside {
  metrics::Closeness* closeness = nullptr;  // by its tolerance
  metrics::DetailSums* details = nullptr;   // empty before
};

// nullopt if the run was cancelled. The error tells which file is to blame.
Result<std::optional<metrics::PairFacts>> gather(dump::EntryReader& target,
                                                 dump::EntryReader& golden,
                                                 const metrics::Request& request,
                                                 const RunContext& context,
                                                 const Beside& beside = {});

// For the details of such a pair, before any element.
metrics::DetailSums details_before(dump::EntryReader& golden);

// CRC-32 of a tensor's elements in plain order, as `plumb convert --format bin` writes them.
Result<std::optional<uint32_t>> checksum(dump::EntryReader& tensor, const RunContext& context);

// An error if elements of one cannot be compared with those of the other: sizes differ, a type
// cannot be decoded, or one side alone is complex. Everything else here asks it first.
Result<void> check_pair(dump::EntryReader& target, dump::EntryReader& golden);

// Pieces of kPairPiece pairs are worked off in chunks of this many.
inline constexpr int64_t kPiecesPerChunk = 32;

// Calls `work(chunk, first, piece)` for every piece of the pair, which starts at element `first`:
// those of a chunk in order and chunks on all cores; then `merge(chunk)` for each chunk in order.
// `chunk` counts from 0 in every window of chunks; a smaller window needs less room for what is not
// merged yet. Ends early, without an error, when the run is cancelled.
inline constexpr int64_t kWindow = 32;
using PieceWork = std::function<void(size_t chunk, int64_t first, const metrics::PairPiece& piece)>;
Result<void> for_each_pair_piece(dump::EntryReader& target, dump::EntryReader& golden,
                                 const RunContext& context, bool counts_as_progress,
                                 const PieceWork& work,
                                 const std::function<void(size_t chunk)>& merge,
                                 int64_t window_chunks = kWindow);

}  // namespace plumb::compare
