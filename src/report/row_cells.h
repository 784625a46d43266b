// SPDX-License-Identifier: Apache-2.0
//
// The columns of a row in tables that spreadsheets and scripts read: the same in csv and xlsx.
#pragma once

#include <vector>

#include <fmt/format.h>

#include "report/spreadsheet.h"
#include "report/text.h"

namespace plumb::report {

std::vector<SheetColumn> row_columns(const result::Run& run);

// Hands `cells` one cell after the other: count(), text(), which gets names as they are, and
// value() of a metric, nullptr if nothing was computed. The rows of `run` are not looked at.
template <class Cells>
void add_row_cells(const result::Run& run, int64_t id, const result::Row& row, Cells& cells) {
  static const result::Side kNone;
  const result::Side& target = row.target ? *row.target : kNone;
  const result::Side& golden = row.golden ? *row.golden : kNone;
  for (const auto& count : {std::optional(id), row.step, row.rank}) cells.count(count);
  if (!run.samples.empty()) cells.text(run.sample_of(row));
  for (const std::string* text : {&target.operator_name, &target.type, &target.slot, &target.dtype})
    cells.text(*text);
  cells.text(shape_text(target));
  for (const std::string* text : {&golden.operator_name, &golden.slot, &golden.dtype})
    cells.text(*text);
  cells.text(shape_text(golden));
  cells.text(name_of(row.verdict));
  cells.text(row.suspicious ? "yes" : "");
  cells.text(row.reasons.size() == 1 ? row.reasons[0]
                                     : fmt::format("{}", fmt::join(row.reasons, " ")));
  for (size_t i = 0; i < run.metrics.size(); ++i)
    cells.value(*run.metrics[i], i < row.values.size() ? &row.values[i] : nullptr);
  for (const std::string* text : {&row.message, &row.hint, &target.file, &golden.file})
    cells.text(*text);
}

}  // namespace plumb::report
