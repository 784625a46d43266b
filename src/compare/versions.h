// SPDX-License-Identifier: Apache-2.0
//
// Versions that models and dumps record themselves: what converted them, what they were converted
// for, what ran them.
#pragma once

#include "compare/session_state.h"

namespace plumb::compare {

// What both sides record, and not alike. Opens at most one file of each side.
std::vector<result::EnvironmentChange> recorded_changes(const SessionState& state);

}  // namespace plumb::compare
