// SPDX-License-Identifier: Apache-2.0
//
// What the operators of an optimised graph were made from. Engines keep the names of the tensors
// that survive, so a fused operator stands for all that lies between what it reads and what it
// gives.
#pragma once

#include "graph/graph.h"

namespace plumb::engine {

// The optimised graph with origins as a converter would have recorded them. Operators that give
// only tensors of new names were inserted by the engine.
graph::Graph with_tensor_origins(graph::Graph optimised, const graph::Graph& original);

}  // namespace plumb::engine
