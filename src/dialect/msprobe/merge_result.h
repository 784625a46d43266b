// SPDX-License-Identifier: Apache-2.0
//
// `msprobe merge_result`: chosen APIs and numbers of the results of several ranks side by side, a
// sheet for each number with a column for each rank.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plumb/result.h"

namespace plumb::msprobe {

struct MergeRun {
  std::filesystem::path input;   // directory with compare_result_rankR_TIME.csv or .xlsx
  std::filesystem::path output;  // directory
  std::string config;  // YAML: `api`, a list; `compare_index`, a list of columns or nothing
};

struct Merged {
  std::filesystem::path file;
  std::vector<int64_t> ranks;
  size_t rows = 0;    // of each sheet
  size_t sheets = 0;  // one for each column that was chosen
  std::vector<std::string> warnings;
};

Result<Merged> merge_results(const MergeRun& run);

}  // namespace plumb::msprobe
