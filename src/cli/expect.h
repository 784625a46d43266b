// SPDX-License-Identifier: Apache-2.0
//
// `plumb run DIR --expect`: ONNX test cases.
#pragma once

#include "cli/command.h"
#include "replay/expect.h"

namespace plumb::cli {

// `all`: passing cases are shown, too.
int run_expect(const std::string& path, const replay::ExpectOptions& options, bool all,
               const CommonOptions& common, RunContext& context);

}  // namespace plumb::cli
