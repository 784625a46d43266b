// SPDX-License-Identifier: Apache-2.0
//
// The network of a TorchAir dump: the graph text beside it describes the model before GE fused
// operators, the dump has them as they ran. Members of an operator that was dumped are one node.
#pragma once

#include <memory>
#include <vector>

#include "dump/dump.h"
#include "pair/torchair.h"
#include "plumb/network.h"

namespace plumb::compare {

struct TorchairNetwork {
  std::shared_ptr<const result::Network> network;
  std::vector<int64_t> nodes;  // parallel to the target's entries; -1: the graph does not have it
};

// Ranks have their nodes in common; each graph has its own. What a node was made from has the names
// that golden, an FX dump or one of GE, has for it.
TorchairNetwork torchair_network(const dump::DumpSet& target, const pair::Torchair& torchair,
                                 bool golden_is_fx);

}  // namespace plumb::compare
