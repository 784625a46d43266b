// SPDX-License-Identifier: Apache-2.0
//
// Decodes dump files to npy or bin under the names msaccucmp gives them, in their own layout or in
// another one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msaccucmp/code.h"
#include "dialect/msaccucmp/tensors.h"
#include "plumb/run_context.h"

namespace plumb::msaccucmp {

struct ConvertOptions {
  std::string format;            // target layout; empty: as stored
  Shape shape;                   // original one, for layouts that need it
  std::string type = "npy";      // npy, msnpy, bin
  std::optional<bool> is_input;  // only this tensor
  int64_t index = 0;
};

// What became of the tensors: one that fails costs itself only.
struct Converted {
  std::vector<std::string> written;                   // names in the output directory
  std::vector<std::pair<std::string, Fault>> failed;  // by path
};
Converted convert_files(const std::vector<std::filesystem::path>& files,
                        const ConvertOptions& options, const std::filesystem::path& output,
                        RunContext& context);
Converted convert_file(const std::filesystem::path& file, const ConvertOptions& options,
                       const std::filesystem::path& output);

}  // namespace plumb::msaccucmp
