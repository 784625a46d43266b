// SPDX-License-Identifier: Apache-2.0
//
// What `plumb run` shows: a line for each layer with the columns that users of `pulsar run` know,
// over all samples if there are several, whether classes agree, and what every comparison ends
// with.
#pragma once

#include "report/terminal.h"

namespace plumb::report {

std::string score_table(const result::Run& run, const TerminalStyle& style);

}  // namespace plumb::report
