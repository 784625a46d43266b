// SPDX-License-Identifier: Apache-2.0
//
// This machine's environment with the engines, which only a layer that loads them can ask.
#pragma once

#include "scan/env.h"

namespace plumb::guide {

void add_engines(scan::Environment& environment);

}  // namespace plumb::guide
