// SPDX-License-Identifier: Apache-2.0
//
// Batch mode: -f names a directory of rule files, -m a run that holds the dumps of several models
// as device/model/model_id/step/files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "dialect/msaccucmp/code.h"

namespace plumb::msaccucmp {

struct BatchJob {
  std::filesystem::path rules;
  std::filesystem::path target;
  std::string prefix;  // of the result's name: "0_model_1"
};
Outcome<std::vector<BatchJob>> plan_batch(const std::filesystem::path& run,
                                          const std::filesystem::path& rules);

}  // namespace plumb::msaccucmp
