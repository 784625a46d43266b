// SPDX-License-Identifier: Apache-2.0
//
// Streams one tensor of a dump through the statistics kernel, on all cores if it is large.
#pragma once

#include "base/run_context.h"
#include "dump/dump.h"
#include "metrics/tensor_stats.h"

namespace plumb::scan {

struct Measured {
  DType dtype = DType::kFloat32;
  Shape shape;  // as read, in plain order
  metrics::TensorStats stats;
  metrics::Histogram histogram;  // over an even sample of at most kHistogramSample values
};

inline constexpr int64_t kHistogramSample = 1 << 20;

// nullopt if the run was cancelled.
Result<std::optional<Measured>> measure(const dump::DumpSet& set, const dump::Entry& entry,
                                        const io::ReadHints& hints, const RunContext& context);

}  // namespace plumb::scan
