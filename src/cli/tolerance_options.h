// SPDX-License-Identifier: Apache-2.0
//
// --atol and --rtol: limits by element, for commands that compare.
#pragma once

#include "cli/command.h"

namespace plumb::cli {

struct ToleranceOptions {
  std::string atol, rtol;

  void declare(Options& options);
  // After parsing; what was not given stays as it is.
  Result<void> set(std::optional<double>& absolute, std::optional<double>& relative) const;
};

}  // namespace plumb::cli
