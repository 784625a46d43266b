// SPDX-License-Identifier: Apache-2.0
//
// Which operators of two models belong together, for their comparison without a run (graph/diff.h).
#pragma once

#include "graph/diff.h"

namespace plumb::pair {

graph::ModelAlignment align_models(const graph::Graph& target, const graph::Graph& golden);

}  // namespace plumb::pair
