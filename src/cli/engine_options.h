// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that run models: what an engine may use up.
#pragma once

#include "base/worker.h"
#include "cli/command.h"

namespace plumb::cli {

struct EngineOptions {
  std::string memory;           // "8G"; empty: three quarters of what the machine has
  std::string timeout = "600";  // seconds without a finished sample

  void declare(Options& options);
  Result<WorkerLimits> limits(const RunContext& context) const;
};

}  // namespace plumb::cli
