// SPDX-License-Identifier: Apache-2.0
//
// The worst slice of a pair. What the first pass summed tells mostly; golden is read again where
// errors of a slice stand out, and both sides where one may be lost though others have errors as
// large: the scores of detections beside boxes in pixels.
#pragma once

#include <optional>

#include "compare/mask_values.h"
#include "dump/dump.h"
#include "metrics/accumulator.h"
#include "plumb/run_context.h"

namespace plumb::compare {

// Puts it into `facts`, which has the sums. `slices` are those of the first pass. If not `exactly`,
// a bound is enough that tells that no slice is damaged.
Result<void> find_worst_slice(const dump::EntryReader& target, const dump::EntryReader& golden,
                              bool exactly, const std::optional<MaskValues>& mask,
                              metrics::SliceSums& slices, metrics::PairFacts& facts,
                              const RunContext& context);

}  // namespace plumb::compare
