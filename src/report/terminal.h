// SPDX-License-Identifier: Apache-2.0
//
// What people see first: the rows worth a look as a table that fits their terminal, the verdict
// with totals that add up, and what to do next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::report {

struct TerminalStyle {
  size_t width = 0;     // columns; 0 = no limit (not a terminal)
  bool colour = false;  // ANSI sequences
  bool all = false;     // every row, in order of execution, rather than those worth a look
  bool hints = false;   // the limits with which rows would pass
  bool ascii = false;   // the terminal shows no other characters
  bool rows = true;     // false: the verdict and what belongs to it only
  // Columns, as far as the run has them; the first is the last to go when there is no room.
  std::vector<std::string> metrics = {"cosine", "rel_euclid", "max_abs", "max_rel"};
};

std::string render(const result::Run& run, const TerminalStyle& style);

}  // namespace plumb::report
