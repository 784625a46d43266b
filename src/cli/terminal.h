// SPDX-License-Identifier: Apache-2.0
//
// What commands need to know about the terminal they print on.
#pragma once

#include <cstddef>

namespace plumb::cli {

// Columns of the terminal behind stdout; 0 if it is none.
size_t terminal_width();

// True if stdout is a terminal and the locale is not one of UTF-8.
bool shows_ascii_only();

// True if stdout is a terminal and the user has not set NO_COLOR.
bool colour_is_wanted();

}  // namespace plumb::cli
