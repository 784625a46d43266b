// SPDX-License-Identifier: Apache-2.0
//
// What a converted graph was made from, if it does not say so itself: told by names, then by
// structure. Operators of the same name and kind are anchors; from them, and from the model's
// inputs, the two graphs are followed edge by edge. An operator of the original that nothing in the
// target stands for was fused into the one before it (a normalisation, an activation) or after it
// (a padding). Where structure leaves a choice, nothing is paired.
#pragma once

#include "graph/graph.h"

namespace plumb::pair {

// The target graph with origins filled in as a converter would have recorded them. Operators that
// could not be told have a `doubt`. Linear in the size of the graphs.
graph::Graph with_origins(graph::Graph target, const graph::Graph& original);

}  // namespace plumb::pair
