// SPDX-License-Identifier: Apache-2.0
//
// Two HDF5 dumps of PyTorch runs, on the device and elsewhere: operators are paired by the order of
// their calls, tensors by their names, some of which differ between devices.
#pragma once

#include <filesystem>

#include "dialect/msaccucmp/compare_pairs.h"
#include "dialect/msaccucmp/output.h"
#include "plumb/run_context.h"

namespace plumb::msaccucmp {

struct H5Row {
  std::vector<std::string> cells;  // of the CSV, without ours
  std::string target, golden;      // datasets; empty if there is none
  bool is_suspicious = false;      // no cosine, or not above 0.95
};

struct H5Result {
  std::vector<std::string> header;
  std::vector<H5Row> rows;
  std::string csv(bool only_suspicious) const;
};
Outcome<H5Result> compare_h5(const std::filesystem::path& target,
                             const std::filesystem::path& golden, const PairOptions& options,
                             RunContext& context);

// A dataset as an array, in the order its attributes say.
Outcome<DecodedArray> h5_array(const std::filesystem::path& file, const std::string& dataset);

}  // namespace plumb::msaccucmp
