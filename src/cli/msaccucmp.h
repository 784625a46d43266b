// SPDX-License-Identifier: Apache-2.0
//
// The comparison that `plumb msaccucmp compare` and `plumb msprobe compare` share.
#pragma once

#include <string>

#include "base/run_context.h"
#include "dialect/msaccucmp/compare_network.h"

namespace plumb::cli {

struct NetworkRun {
  std::string target, golden;
  msaccucmp::RulePaths rules;
  std::string output = ".";
  msaccucmp::NetworkOptions options;
  bool advisor = false;
  bool join_slices = true;  // of FFTS+
};

// Writes the result (or, given rules in a directory, a result for each model) and says where.
// Returns the exit status.
int run_network(const NetworkRun& run, RunContext& context);

}  // namespace plumb::cli
