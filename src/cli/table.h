// SPDX-License-Identifier: Apache-2.0
//
// A text table that fits the terminal: columns are as wide as their contents, the least important
// ones go first when there is no room, and long names are shortened in the middle.
#pragma once

#include <string>
#include <vector>

namespace plumb::cli {

struct Column {
  std::string title;
  bool right = false;     // numbers
  int importance = 9;     // the lowest is dropped first; 9 is never dropped
  bool shortens = false;  // may lose its middle
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one cell per column

  // `width` 0: no limit (not a terminal).
  std::string render(size_t width) const;
};

// Columns of the terminal behind stdout; 0 if it is none.
size_t terminal_width();

// On screen, in code points.
size_t display_width(std::string_view text);

// Control characters, which a hostile file name could use to repaint the screen, as \xNN.
std::string printable(std::string_view text);

}  // namespace plumb::cli
