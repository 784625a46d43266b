// SPDX-License-Identifier: Apache-2.0
//
// Who loses most: the operators of a run by the error that each of them makes itself.
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::report {

// A table of the rows whose own error was measured, the worst first, and what the numbers amount
// to. `width` in columns, 0: no limit.
std::string own_errors_text(const result::Run& run, size_t width, bool colour);

}  // namespace plumb::report
