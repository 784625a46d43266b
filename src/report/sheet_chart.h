// SPDX-License-Identifier: Apache-2.0
//
// A chart in a sheet of a workbook (DrawingML, ECMA-376 part 1, chapter 21): columns against a
// column, as points on a logarithmic scale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::report {

// Namespace of relations between parts of a workbook.
inline constexpr std::string_view kOfficeRelations =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

struct SheetChart {
  std::string title;           // plain: "error along the network"
  size_t x = 0;                // columns of the sheet that it stands in, which has titles
  std::vector<size_t> points;  // ... shown by marks
  std::vector<size_t> lines;   // ... shown by lines, limits
};

// Of the rows 2 to `last` of the sheet.
std::string chart_xml(const SheetChart& chart, std::string_view sheet, int64_t last);
// Where it stands: from that column on, below the titles.
std::string chart_place_xml(size_t column);

std::string column_name(size_t column);  // 0 is "A", 26 is "AA"

}  // namespace plumb::report
