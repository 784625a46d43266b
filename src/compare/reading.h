// SPDX-License-Identifier: Apache-2.0
//
// What the operator that gave a tensor had read, for those few whose function can be computed anew.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "pair/plan.h"

namespace plumb {
struct SessionState;
}

namespace plumb::compare {

enum class Made : uint8_t { kSigmoid, kHardSigmoid, kSoftmax, kProduct, kRectified };

// How a tensor came to be on both sides: by the same function of tensors that were dumped, apart
// from casts and other shapes.
struct Reading {
  Made made;
  std::vector<pair::PlannedRow> inputs;  // the two sides of each
  // The 16-bit type that a cast on the way brought it to, if any.
  std::optional<DType> target_narrow, golden_narrow;
};

// Of a row, by the target's graph, and golden's if there is one; else by what is paired. Borrows
// the state, whose plan is made; empty without a graph. Called from any thread.
using ReadingOf = std::function<std::optional<Reading>(const pair::PlannedRow&)>;
ReadingOf readings(const SessionState& state);

}  // namespace plumb::compare
