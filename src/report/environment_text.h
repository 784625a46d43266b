// SPDX-License-Identifier: Apache-2.0
//
// What accuracy depends on at a machine, and how two of them differ, as `plumb env` shows it.
#pragma once

#include "scan/env.h"

namespace plumb::report {

std::string environment_text(const scan::Environment& environment);
std::string environment_diff_text(const scan::EnvDiff& diff);

}  // namespace plumb::report
