// SPDX-License-Identifier: Apache-2.0
//
// Everything that can stand for a tensor whose data are not kept, from one pass over it:
// statistics, checksum and sketch. What a reduced dump kept is compared with the same of data that
// are there.
#pragma once

#include "base/run_context.h"
#include "dump/reduced.h"
#include "metrics/sketch.h"

namespace plumb::scan {

struct TensorSummary {
  dump::FullStatistics statistics;
  std::optional<metrics::Sketch> sketch;  // if wanted, of real numbers
};

// Without a checksum.
dump::FullStatistics full_statistics(DType dtype, const Shape& shape,
                                     const metrics::TensorStats& stats);

// nullopt if the run was cancelled.
Result<std::optional<TensorSummary>> summarise(io::TensorReader& reader, bool sketch,
                                               const RunContext& context);

// The same of a tensor of a dump.
Result<std::optional<TensorSummary>> summarise(const dump::DumpSet& set, const dump::Entry& entry,
                                               const io::ReadHints& hints, bool sketch,
                                               const RunContext& context);

// What a reduced dump kept; nullopt if it kept none.
Result<std::optional<metrics::Sketch>> recorded_sketch(const dump::DumpSet& set,
                                                       const dump::Entry& entry);

}  // namespace plumb::scan
