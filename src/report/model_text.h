// SPDX-License-Identifier: Apache-2.0
//
// A model description, as `plumb inspect` shows it: what it is and what goes in and out, or the
// operators that were asked for.
#pragma once

#include "scan/inspect_model.h"

namespace plumb::report {

// `width` as in TerminalStyle; with the command that made an offline model only if asked for.
std::string model_text(const scan::InspectedModel& model, size_t width, bool command_line);

}  // namespace plumb::report
