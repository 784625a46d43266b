// SPDX-License-Identifier: Apache-2.0
//
// What the type or name of an operator tells about its tensors: whether it only stores them another
// way, quantizes them, or never writes them. The lists stand here and nowhere else.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace plumb::pair {

// TransData, Cast: an operator that changes how values are stored, not what they are.
bool keeps_values(std::string_view type);
// Hands integers on without a change of scale: those, and whatever moves or selects elements.
bool keeps_scale(std::string_view type);
// Operators that never write a dump: Data, Const, NetOutput.
bool is_never_dumped(const graph::Operator& op);
// ArgMax, NonMaxSuppression: an operator that gives out indices or classes.
bool gives_ids(std::string_view type);
// Round, QuantizeLinear: whole numbers that may be off by a step.
bool gives_rounded(std::string_view type);
bool is_quant(const graph::Operator& op);
bool is_dequant(const graph::Operator& op);

}  // namespace plumb::pair
