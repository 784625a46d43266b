// SPDX-License-Identifier: Apache-2.0
//
// Tables as text (CSV, RFC 4180), written and read: one rule for what stands in quotes, and one for
// what a spreadsheet would take for a formula. Names come from files and may hold anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// True for text that a spreadsheet might run, were it typed in: = + - @ in front. Their wide forms
// count too, some spreadsheets fold them.
bool starts_like_formula(std::string_view text);
// ... and that is no number.
bool is_formula(std::string_view text);

// Whether a cell with this text has to stand in quotes.
bool needs_csv_quotes(std::string_view text);
// Whether it stands there as it is in every table: printable ASCII, no quotes, no formula.
bool is_plain_csv(std::string_view text);

// Append a cell: always in quotes; in quotes if it needs them; and, for tables that people open,
// with the apostrophe that marks text in front of what a spreadsheet would run.
void append_csv_quoted(std::string& line, std::string_view text);
void append_csv(std::string& line, std::string_view text);
void append_csv_text(std::string& line, std::string_view text);

// Takes the first line off a text; without its end.
std::string_view take_line(std::string_view& text);

// The records of a table. Cells in quotes may hold commas, ends of lines and doubled quotes; a
// quote inside a cell is itself. A byte order mark is skipped.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text);  // borrowed

  bool next();  // false at the end

  // Of the latest record; never empty. An empty line is one empty cell.
  const std::vector<std::string>& cells() const { return cells_; }
  // Of the text: a quote that nothing closes. Its cell goes on to the end.
  std::optional<size_t> open_quote() const { return open_quote_; }
  // Whether there is text between a closing quote and the next comma; it is part of the cell.
  bool closes_early() const { return closes_early_; }

 private:
  void take_quoted(std::string& cell);

  std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> cells_;
  std::optional<size_t> open_quote_;
  bool closes_early_ = false;
};

}  // namespace plumb
