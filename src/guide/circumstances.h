// SPDX-License-Identifier: Apache-2.0
//
// What a user tells about the two sides beside their tensors, as it is typed: files that `plumb
// env` wrote, and how well the models do their task.
#pragma once

#include <string>

#include "plumb/circumstances.h"
#include "plumb/result.h"

namespace plumb::guide {

// Empty: not given. Shares are "0.761", "76.1" (percent if more than 1) or "76.1%".
struct CircumstanceOptions {
  std::string target_env, golden_env;
  std::string topn_float, topn_quant, topn_offline, topn_samples;
  std::string calibration_size;
};

// Errors name the option.
Result<result::Circumstances> circumstances_from(const CircumstanceOptions& options);
// Adds what is told to what a run records itself.
void add_circumstances(const result::Circumstances& told, result::Circumstances& known);

// "0.761", "76.1" or "76.1%" as a share; `is_percent` says what it was typed as.
Result<double> share_from(const std::string& text, const std::string& name, bool* is_percent);
// A whole number of samples, at least `least`.
Result<int64_t> count_from(const std::string& text, const std::string& name, int64_t least);

}  // namespace plumb::guide
