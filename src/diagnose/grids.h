// SPDX-License-Identifier: Apache-2.0
//
// Quantized networks: where most outputs stand on grids, what a grid costs is normal, and an
// operator whose channels differ much in size hides what it costs most of them.
#pragma once

#include "diagnose/net.h"
#include "diagnose/tensors.h"

namespace plumb::diagnose {

// How many times the usual channel the largest one has to be.
inline constexpr double kSpread = 6;

// True if most outputs of the target are quantized values: then Node::grain and Node::hidden are
// filled, as far as tensors are small and few enough.
bool look_at_grids(Net& net, Tensors& tensors, const RunContext& context);

}  // namespace plumb::diagnose
