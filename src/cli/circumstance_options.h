// SPDX-License-Identifier: Apache-2.0
//
// Options of the commands that explain: what is known about the two sides beside their tensors.
#pragma once

#include "cli/command.h"
#include "cli/output_check.h"
#include "guide/circumstances.h"

namespace plumb::cli {

struct CircumstanceOptions : guide::CircumstanceOptions {
  void declare(Options& options);
  std::vector<NamedPath> paths() const;  // that are read
};

}  // namespace plumb::cli
