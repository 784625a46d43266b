// SPDX-License-Identifier: Apache-2.0
//
// What modules of a framework gave, recorded by hooks, against a model that was exported from them:
// an exporter names operators by the path of their module, "/layer1/layer1.0/conv1/Conv" for
// "layer1.0.conv1". Hooks see modules only, not the functions between them, so that the edges of
// such a record are no network to align by structure.
#pragma once

#include "graph/graph.h"
#include "pair/pairing.h"

namespace plumb::pair {

// The path of the module that an exported operator stands in; empty: the model itself. nullopt if
// the name is none of an exporter.
std::optional<std::string> module_path(std::string_view operator_name);

// Whether a graph was recorded so.
bool is_of_modules(const graph::Graph* graph);

// One graph is of modules, and operators of the other are named by modules.
bool is_modules_against_model(const graph::Graph* target, const graph::Graph* golden);

// Of every tensor of the target the partner, or why it has none; of golden's tensors the reason of
// those without one. Borrows from the dumps.
Pairings pair_modules(const dump::DumpSet& target, const dump::DumpSet& golden,
                      const graph::Graph& target_graph, const graph::Graph& golden_graph);

}  // namespace plumb::pair
