// SPDX-License-Identifier: Apache-2.0
//
// Which tensors of TorchAir's dumps belong together: the graph engine's (GE) against those of the
// FX graph it was made from, or against GE with fusion off. The graph texts beside the GE dump say
// which FX tensor an output stands for; names of fused operators are taken apart into their
// members; lists of operands are aligned by the number of elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "pair/plan.h"
#include "pair/torchair_graphs.h"

namespace plumb::pair {

struct TorchairOptions {
  std::vector<int64_t> ranks;            // only these; empty for all that both sides have
  std::optional<int64_t> fx_token_base;  // FX directory = token + this; unset: told by the tree
  const graph::Graph* graph = nullptr;   // another description of the target's model
};

// Borrows entries of both sets, and the options' graph.
struct Torchair {
  Pairings pairings;  // one for every entry of either side that is nobody's golden
  struct Place {
    std::optional<int64_t> graph;  // number of its graph file, if there is one
    int64_t token = 0;
    bool is_common = false;  // golden has its rank, graph and token as well
  };
  std::vector<Place> places;  // parallel to the target's entries
  TorchairModels models;      // of the target
  std::vector<std::string> warnings;
};

// True for a GE dump against FX, or against another GE dump.
bool is_torchair(const dump::DumpSet& target, const dump::DumpSet& golden);

// Errors: no graph in the target, no rank in common, or which rank to take is not clear.
Result<Torchair> pair_torchair(const dump::DumpSet& target, const dump::DumpSet& golden,
                               const TorchairOptions& options = {});

}  // namespace plumb::pair
