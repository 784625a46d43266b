// SPDX-License-Identifier: Apache-2.0
//
// What the commands that run models share.
#pragma once

#include "cli/input_options.h"

namespace plumb::cli {

// The samples a model is fed, with what is odd about them told. Without any input it is fed random
// numbers, and told so.
Result<input::Samples> open_samples(InputOptions options, const std::vector<engine::Port>& ports,
                                    const CommonOptions& common);

}  // namespace plumb::cli
