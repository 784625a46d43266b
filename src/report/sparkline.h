// SPDX-License-Identifier: Apache-2.0
//
// The error along the network in one line of a terminal, and who introduced it below.
#pragma once

#include <string>

#include "plumb/row.h"

namespace plumb::report {

struct Sparkline {
  std::string errors;   // one character for a few rows, in their order: the higher, the larger
  std::string culprit;  // a mark below its place, and its name; empty if nobody is to blame
};

// Nothing if no relative error is known. `ascii`: for terminals that know no other characters.
Sparkline sparkline(const result::Run& run, size_t most_cells, bool ascii);

}  // namespace plumb::report
