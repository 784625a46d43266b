// SPDX-License-Identifier: Apache-2.0
//
// What a model is fed, as a person writes it: files, shapes, and how pictures become tensors. All
// text, read and checked here, so that whoever takes such options understands them alike.
#pragma once

#include "input/samples.h"

namespace plumb::input {

// Empty: not given. Each is what the option of its name takes, see docs/inputs.md.
struct SampleOptions {
  std::vector<std::string> inputs, shapes;
  std::vector<NamedTensor> tensors;  // see SampleRequest
  std::string option = "--input";    // that `inputs` were given by; for messages
  std::string seed, config, dump_directory;
  std::string color, source_color, source_size, color_standard;
  std::string resize, crop, interpolation, mean, std, scale, layout;
  bool align_corners = false;
  bool cast = false;
  std::optional<int64_t> most = {};  // samples are drawn by the seed; nullopt: all are taken
};

// The samples for a model of these inputs. Nothing but names and headers is read yet. Without any
// input they are random numbers.
Result<Samples> open_samples(SampleOptions options, const std::vector<engine::Port>& ports);

}  // namespace plumb::input
