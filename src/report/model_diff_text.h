// SPDX-License-Identifier: Apache-2.0
//
// How two models differ, as `plumb diff` shows it, by what the differences mean.
#pragma once

#include "graph/diff.h"

namespace plumb::report {

// Without `all` long lists are cut, and what changes nothing is only counted.
std::string model_diff_text(const graph::ModelDiff& diff, const graph::DiffPaths& paths, bool all,
                            bool colour);

}  // namespace plumb::report
