// SPDX-License-Identifier: Apache-2.0
//
// The table a device writes in place of a dump when only statistics were asked for: one line for
// each input and output. Which columns there are depends on the writer, so they are found by their
// names.
#pragma once

#include <string_view>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

// Entries with slot and statistics. Errors start with "line N".
Result<std::vector<Entry>> parse_statistics_csv(std::string_view text);

}  // namespace plumb::dump
