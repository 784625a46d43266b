// SPDX-License-Identifier: Apache-2.0
//
// An engine that runs models in a worker process. A crash, a limit or too long a time ends the
// worker and is an error of the one call; the next call gets a fresh worker.
#pragma once

#include "base/worker.h"
#include "engine/engine.h"

namespace plumb::engine {

Result<std::shared_ptr<Engine>> start_engine(const std::string& name, const WorkerLimits& limits);

}  // namespace plumb::engine
