// SPDX-License-Identifier: Apache-2.0
//
// What the type or name of an operator tells about its tensors: whether it only stores them another
// way, quantizes them, or never writes them. The lists stand here and nowhere else.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace plumb::pair {

// TransData, Cast: an operator that changes how values are stored, not what they are.
bool keeps_values(std::string_view type);
// Hands integers on without a change of scale: those, and whatever moves or selects elements.
bool keeps_scale(std::string_view type);
// Operators that never write a dump: Data, Const, NetOutput.
bool is_never_dumped(const graph::Operator& op);
// One word for what frameworks and compilers call differently: "conv" for Conv2D, Convolution, ...
std::string kind_of_type(std::string_view type);
// Of a kind that changes no value, or only its precision or place in memory: beside what
// keeps_values(), which is told by the type.
bool hands_on(std::string_view kind);
// Inputs may come in any order.
bool commutes(std::string_view kind);
// A converter may fold an affine operator behind it into its weights.
bool has_weights(std::string_view kind);
// Multiplies and adds constants only; `inputs` without constants.
bool is_affine(std::string_view kind, size_t inputs);
// Is folded into the operator behind it, all others into the one before.
bool is_prefix(std::string_view kind);
// Changes no value, only where it is: optimisers insert, remove and exchange such operators.
bool moves(std::string_view kind);
// ArgMax, NonMaxSuppression: an operator that gives out indices or classes.
bool gives_ids(std::string_view type);
// Sigmoid, Softmax: shares of 1.
bool gives_shares(std::string_view type);
// QuantizeLinear: codes of its first input.
bool quantizes(std::string_view type);
// Round, QuantizeLinear: whole numbers that may be off by a step.
bool gives_rounded(std::string_view type);
bool is_quant(const graph::Operator& op);
bool is_dequant(const graph::Operator& op);

}  // namespace plumb::pair
