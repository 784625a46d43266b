// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables that comparisons write: csv (RFC 4180), and workbooks (xlsx, ECMA-376) with
// their texts in place or shared. Of a workbook all sheets are read, one behind the other.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::msprobe {

// One row, its titles included; empty cells are empty texts, and those at its end may be missing.
using OnRow = std::function<void(std::span<const std::string> cells)>;

// Errors start with "byte N".
Result<void> read_csv(std::string_view text, const OnRow& on_row);
Result<void> read_xlsx(Bytes file, const OnRow& on_row);

// By content: a workbook is a zip archive.
Result<void> read_table(Bytes file, const OnRow& on_row);

}  // namespace plumb::msprobe
