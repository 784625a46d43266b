// SPDX-License-Identifier: Apache-2.0
//
// A text table that fits the terminal: columns are as wide as their contents, the least important
// ones go first when there is no room, and long names are shortened in the middle.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb::report {

struct Column {
  std::string title;
  bool right = false;     // numbers
  int importance = 9;     // the lowest is dropped first; 9 is never dropped
  bool shortens = false;  // may lose its middle
  size_t shortest = 16;   // other columns are dropped rather than this one made shorter
  bool is_prose = false;  // loses whole words at its end instead
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column
  // Of each row's first cell, e.g. "31" for red; titles are dimmed then. Empty: no colours.
  std::vector<std::string_view> colours;

  // `width` 0: no limit (not a terminal).
  std::string render(size_t width) const;
};

}  // namespace plumb::report
