// SPDX-License-Identifier: Apache-2.0
//
// The scores that shares are made of. A Softmax or Sigmoid at the end of a model hides how far
// scores are off where one class wins anyway, and blows it up where none does, so what it reads is
// the better thing to compare.
#pragma once

#include "graph/graph.h"

namespace plumb::graph {

// What the Softmax or Sigmoid reads that gives this output of a model, also where the output was
// rounded to a grid or reshaped since; nullopt if there is none.
std::optional<Edge> scores_behind(const Graph& graph, const Edge& output);

// Where numbers come from that were rounded to a grid since; the same edge if they were not.
Edge before_rounding(const Graph& graph, const Edge& edge);

}  // namespace plumb::graph
