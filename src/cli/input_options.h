// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that feed models: which files, and how pictures become tensors.
#pragma once

#include "cli/command.h"
#include "input/samples.h"

namespace plumb::cli {

struct InputOptions {
  std::vector<std::string> inputs, shapes;
  std::string seed, config, dump_directory;
  std::string color, source_color, source_size, color_standard;
  std::string resize, crop, interpolation, mean, std, scale, layout;
  bool align_corners = false;
  bool cast = false;

  void declare(Options& options);
  // What the model is fed. Nothing but names and headers is read yet. Warnings, about colours for
  // one, are in the result: the command prints them.
  Result<input::Samples> samples(const std::vector<engine::Port>& ports) const;
};

}  // namespace plumb::cli
