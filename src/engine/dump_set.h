// SPDX-License-Identifier: Apache-2.0
//
// What a model gave, kept in memory, as a directory that `plumb dump` wrote would be read: the same
// entries, and the same graph.
#pragma once

#include "dump/dump.h"
#include "engine/dump_model.h"

namespace plumb::engine {

// Keeps the tensors alive.
Result<dump::DumpSet> dump_set_of(const Dump& dump);

// As the index would describe it: what was run, with the types and shapes that came out.
graph::Graph graph_of(const Dump& dump);

}  // namespace plumb::engine
