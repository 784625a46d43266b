// SPDX-License-Identifier: Apache-2.0
//
// Whether outputs can be written, and without destroying what the same run reads: asked before
// anything is read, so that a long run does not end in a file that cannot be written.
#pragma once

#include <span>
#include <string>

#include "plumb/result.h"

namespace plumb::cli {

// A path of the command line and the option or argument that it belongs to.
struct NamedPath {
  std::string option;
  std::string path;  // empty: not given
};

// An output must not be one of the inputs, nor a file that is already in an input directory.
Result<void> check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs);

}  // namespace plumb::cli
