// SPDX-License-Identifier: Apache-2.0
//
// What a quantizing operator reads. Its codes are rounded from that alone: where the two sides read
// the same, codes differ in few places. Deep in a network they may differ in most.
#pragma once

#include <functional>

#include "compare/session_state.h"

namespace plumb::compare {

// Of each row, that of its operator's first input, if the target's graph tells; else null. Borrows
// the state, whose plan is made; empty without a graph.
std::function<const pair::PlannedRow*(const pair::PlannedRow&)> quantized_inputs(
    const SessionState& state);

}  // namespace plumb::compare
