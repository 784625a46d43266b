// SPDX-License-Identifier: Apache-2.0
//
// Lines that GitHub shows beside a run of its actions, and on the pull request ("::error ...").
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::report {

// The findings and the worst rows; GitHub shows ten errors and ten warnings of a step.
std::string annotations(const result::Run& run);

}  // namespace plumb::report
