// SPDX-License-Identifier: Apache-2.0
//
// What dumps recorded of two tensors, instead of their data, proves about the tensors: extremes,
// lengths and means bound the errors between them from below.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "metrics/sketch.h"
#include "tensor/dtype_words.h"
#include "tensor/statistics.h"

namespace plumb::judge {

// Where a metric of the two tensors must lie, one end infinite if only the other is known. `low`
// and `high` allow for the rounding of recorded numbers; `value` is what they say as they stand.
// nullopt if they tell nothing about the metric.
//
// Where NaN or infinities do not stand in the same places on both sides, metrics of the other
// elements need not keep to it; such tensors differ whatever the metrics are.
std::optional<metrics::Bounded> proven(std::string_view metric, const Statistics& target,
                                       const Statistics& golden);

}  // namespace plumb::judge
