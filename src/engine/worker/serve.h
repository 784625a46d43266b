// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of running models.
#pragma once

#include "engine/engine.h"

namespace plumb::engine {

// Answers requests (see wire.h) until nobody is there to make them.
void serve_engine(Engine& engine, int socket);

}  // namespace plumb::engine
