// SPDX-License-Identifier: Apache-2.0
//
// What has to be gathered for a list of metrics.
#pragma once

#include <span>

#include "metrics/accumulator.h"
#include "plumb/metric.h"

namespace plumb::metrics {

// What to gather for `wanted`, which need not be of the table. A bound will do for what is not in
// `exactly`.
Request request_for(std::span<const Metric* const> wanted,
                    std::span<const Metric* const> exactly = {});

}  // namespace plumb::metrics
