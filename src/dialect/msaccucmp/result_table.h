// SPDX-License-Identifier: Apache-2.0
//
// The result of a network comparison: rows with the cells of msaccucmp's CSV, and two columns of
// ours behind them that say in a word what became of the pair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dialect/msaccucmp/algorithms.h"
#include "dialect/msaccucmp/code.h"

namespace plumb::msaccucmp {

struct ResultRow {
  int64_t index = 0;
  int64_t sequence = 0;  // of the operator in the rule file
  std::string type = "NaN";
  std::string target, golden;  // operators
  std::string target_dtype = "NaN", golden_dtype = "NaN";
  std::string target_address = "NaN", golden_address = "NaN";
  std::string tensor = "NaN";  // "conv1:output:0"
  std::string shape = "NaN";
  std::string overflow = "NaN";
  std::vector<std::string> scores;   // "NaN" if empty
  std::vector<std::string> reasons;  // msaccucmp's column
  bool is_compared = false;
  std::vector<std::string> codes;  // ours: NO_GOLDEN, SIZE_TRUNCATED, ...
  std::string scores_of;           // another row's tensor, whose scores count for this one
};

struct ResultTable {
  Selection algorithms;
  bool has_sequence = false;
  bool has_target_address = true, has_golden_address = true;
  bool has_overflow = false;
  std::vector<ResultRow> rows;
  Code code = Code::kNone;  // the exit status
  std::vector<std::string> warnings;
};

std::string to_csv(const ResultTable& table);
// "NaN" for a row that has none.
void append_scores(const ResultRow& row, const Selection& algorithms,
                   std::vector<std::string>& cells);

// A cell as CSV wants it. One that a spreadsheet would take for a formula is made harmless.
std::string csv_cell(std::string_view text);
std::string csv_line(const std::vector<std::string>& cells);  // with CRLF

std::string shape_cell(const std::vector<int64_t>& shape);  // "[1,2]"
std::string address_cell(uint64_t address);

}  // namespace plumb::msaccucmp
