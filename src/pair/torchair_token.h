// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of one token of a model belong together, where GE may have fused operators, renamed
// them, or put in conversions of its own.
#pragma once

#include <string_view>
#include <vector>

#include "pair/plan.h"
#include "pair/torchair_graphs.h"

namespace plumb::pair {

inline constexpr std::string_view kFxConvention = "torchair-fx", kGeConvention = "torchair-ge";

using Entries = std::vector<const dump::Entry*>;

// Decides about every tensor of `targets` and `goldens`, which are parts of the two sets in their
// order. Adds to `duplicates` the runs of operators that a later one stands for.
void pair_token(const dump::DumpSet& target, const dump::DumpSet& golden,
                const TorchairModel& model, const Entries& targets, const Entries& goldens,
                Pairings& out, size_t& duplicates);

}  // namespace plumb::pair
