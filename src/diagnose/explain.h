// SPDX-License-Identifier: Apache-2.0
//
// Explains a finished run: who introduced the error, why, and what to do next.
#pragma once

#include "diagnose/tensors.h"
#include "plumb/row.h"

namespace plumb::diagnose {

// Fills findings and estimated own errors. A run without a difference has no findings. Where
// tensors are at hand, those of a few suspects are looked at; else the numbers of the rows have to
// do.
void explain(result::Run& run, Tensors tensors, const RunContext& context);

}  // namespace plumb::diagnose
