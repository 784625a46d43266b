// SPDX-License-Identifier: Apache-2.0
//
// Operators that only the target has and that only quantize: golden knows nothing of them, but what
// they give out stands for the tensor they read, and whoever reads it reads that.
#pragma once

#include "diagnose/net.h"
#include "diagnose/tensors.h"

namespace plumb::diagnose {

// Fills their errors, and the inputs of their readers, as far as tensors are at hand.
void look_at_quantizers(Net& net, Tensors& tensors, const RunContext& context);

}  // namespace plumb::diagnose
