// SPDX-License-Identifier: Apache-2.0
//
// The options of commands that feed models: which files, and how pictures become tensors.
#pragma once

#include "cli/command.h"
#include "input/sample_options.h"

namespace plumb::cli {

struct InputOptions : input::SampleOptions {
  void declare(Options& options);  // all of them
  // Parts, for commands whose sets of samples have options of their own.
  void declare_feeding(Options& options);
  void declare_pictures(Options& options);
};

// What is odd about the samples, on stderr.
void print_warnings(const input::Samples& samples, const CommonOptions& common);

}  // namespace plumb::cli
