// SPDX-License-Identifier: Apache-2.0
//
// Optimisers move transpositions through a model: what lies between the old and the new place works
// on axes in another order, and says so in its attributes. That is no difference, as far as can be
// seen without a run.
#pragma once

#include "graph/diff.h"

namespace plumb::graph {

// What may be explained by transpositions that were moved becomes kUnverified.
void excuse_turned(const ModelContent& target, const ModelContent& golden,
                   const ModelAlignment& alignment, std::vector<Difference>& differences);

}  // namespace plumb::graph
