// SPDX-License-Identifier: Apache-2.0
//
// What two graphs have to do with each other, as far as neither says so itself: their operators are
// aligned (pair/align.h), their tensors told from that (pair/standing.h), and both graphs say so as
// if a converter had recorded it. What an engine recorded of tensors that survived its optimization
// stays.
#pragma once

#include "graph/graph.h"

namespace plumb::pair {

// Fills in the origins of the target's operators; on either side those without a counterpart get an
// `absence`.
void align_graphs(graph::Graph& target, graph::Graph& golden);

}  // namespace plumb::pair
