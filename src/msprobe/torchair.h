// SPDX-License-Identifier: Apache-2.0
//
// `msprobe compare --mode torchair`: a GE dump against FX, or against GE without fusion, one result
// file for each rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/run_context.h"

namespace plumb::msprobe {

struct TorchairRun {
  std::string target, golden;
  std::filesystem::path output = ".";
  std::vector<int64_t> ranks, graphs, tokens;  // only these; empty for all
  std::optional<int64_t> fx_token_base;
  bool documented_only = false;
};

// What was written, for the last lines on the screen.
struct Written {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;
  int64_t pass = 0, fail = 0, not_compared = 0;
  bool interrupted = false;
};

Result<Written> compare_torchair(const TorchairRun& run, const RunContext& context);

}  // namespace plumb::msprobe
