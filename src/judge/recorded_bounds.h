// SPDX-License-Identifier: Apache-2.0
//
// What dumps recorded of two tensors, instead of their data, proves about the tensors: extremes,
// lengths and means bound the errors between them from below.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dump/dump.h"
#include "metrics/sketch.h"
#include "tensor/dtype_words.h"

namespace plumb::judge {

// What a dump recorded about a tensor whose data it did not keep.
struct Recorded {
  const dump::RecordedStatistics& statistics;
  std::string_view dtype;  // in the tool's words; empty if not known
  const std::optional<Shape>& shape;
};

// Where a metric of the two tensors must lie, one end infinite if only the other is known. `low`
// and `high` allow for the rounding of recorded numbers; `value` is what they say as they stand.
// nullopt if they tell nothing about the metric.
//
// Where NaN or infinities do not stand in the same places on both sides, metrics of the other
// elements need not keep to it; such tensors differ whatever the metrics are.
std::optional<metrics::Bounded> proven(std::string_view metric, const Recorded& target,
                                       const Recorded& golden);

}  // namespace plumb::judge
