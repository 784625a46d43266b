// SPDX-License-Identifier: Apache-2.0
//
// What users of the model see, as the vendors' troubleshooting guides call it: outputs that are
// very different, slightly different, right although the application is wrong, or different since
// an upgrade. Each has its usual causes.
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::report {

// Empty if it is not known which tensors are the model's outputs, or if they were not compared.
std::string symptom_text(const result::Run& run, const result::Summary& summary);

// The files of a board against what the simulator makes of the same compiled model.
bool is_board_against_simulator(const result::Run& run);

// Its size or shape is not golden's, which tells nothing of what was computed.
bool is_of_another_size(const result::Row& row);

}  // namespace plumb::report
