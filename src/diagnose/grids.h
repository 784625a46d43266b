// SPDX-License-Identifier: Apache-2.0
//
// What numbers lose by the way they are stored. Quantized networks: where most outputs stand on
// grids, what a grid costs is normal, and an operator whose channels differ much in size hides what
// it costs most of them.
#pragma once

#include "diagnose/net.h"
#include "diagnose/tensors.h"

namespace plumb::diagnose {

// How many times the usual channel the largest one has to be.
inline constexpr double kSpread = 6;

// True if most outputs of the target are quantized values: then Node::grain and Node::hidden are
// filled, as far as tensors are small and few enough.
bool look_at_grids(Net& net, Tensors& tensors, const RunContext& context);

// float16 has a grid, too: below 2^-14 its numbers stand as far apart as the smallest ones. What
// golden's small values lose there, relative to golden; 0 if the target's are no float16 numbers.
double float16_grain(const compare::PairValues& values);

}  // namespace plumb::diagnose
