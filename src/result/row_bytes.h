// SPDX-License-Identifier: Apache-2.0
//
// A row as bytes that only this process reads again: words of the program are kept as pointers, and
// numbers as they are in memory. Lines that travel and last are in result/row_line.h.
#pragma once

#include <string>
#include <string_view>

#include "plumb/row.h"

namespace plumb::result {

// All of the row but its details.
void append_row_bytes(std::string& bytes, const Row& row);

// Overwrites all of the row but its details, using what it has allocated again. False if these are
// not the bytes of a row.
bool read_row_bytes(std::string_view bytes, Row& row);

}  // namespace plumb::result
