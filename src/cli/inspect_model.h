// SPDX-License-Identifier: Apache-2.0
//
// How `plumb inspect` shows a model description.
#pragma once

#include "scan/inspect_model.h"

namespace plumb::cli {

void print_model(const scan::InspectedModel& model, bool command_line);

}  // namespace plumb::cli
