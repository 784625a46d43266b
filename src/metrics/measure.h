// SPDX-License-Identifier: Apache-2.0
//
// Streams one tensor through the statistics kernel, on all cores if it is large; on the way takes
// along what else can stand for it: a histogram, a checksum, a sketch.
#pragma once

#include <optional>

#include "metrics/sketch.h"
#include "metrics/tensor_stats.h"
#include "plumb/run_context.h"
#include "tensor/piece_source.h"
#include "tensor/statistics.h"

namespace plumb::metrics {

// What is wanted beside the statistics.
struct Extras {
  bool histogram = false;
  bool checksum = false;
  bool sketch = false;  // of real numbers; the checksum goes with it
};

struct Measured {
  DType dtype = DType::kFloat32;
  Shape shape;  // as read, in plain order
  TensorStats stats;
  Histogram histogram;            // over an even sample of at most kHistogramSample values
  std::optional<uint32_t> crc32;  // of the elements in plain order
  std::optional<Sketch> sketch;
};

inline constexpr int64_t kHistogramSample = 1 << 20;

// nullopt if the run was cancelled.
Result<std::optional<Measured>> measure(const PieceSource& source, const Extras& extras,
                                        const RunContext& context);

FullStatistics full_statistics(const Measured& measured);

}  // namespace plumb::metrics
