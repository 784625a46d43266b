// SPDX-License-Identifier: Apache-2.0
//
// `msprobe compare --mode torchair`: a GE dump against FX, or against GE without fusion, one result
// file for each rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msprobe/result_file.h"
#include "plumb/run_context.h"

namespace plumb::msprobe {

struct TorchairRun : CompareRun {
  std::vector<int64_t> ranks, graphs, tokens;  // only these; empty for all
  std::optional<int64_t> fx_token_base;
  bool as_original = false;  // the columns and formulas that msprobe itself has
};

Result<Written> compare_torchair(const TorchairRun& run, RunContext& context);

}  // namespace plumb::msprobe
