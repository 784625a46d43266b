// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/result_table.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "tensor/shape.h"

namespace plumb::msaccucmp {
namespace {

// What msaccucmp itself takes for a formula, and ends with: also what starts so behind a semicolon,
// which some spreadsheets take for the end of a cell, or with a percent sign.
bool has_formula(std::string_view text) {
  for (size_t at = 0;; ++at) {
    const std::string_view rest = text.substr(at);
    if (is_formula(rest) || rest.starts_with('%') || rest.starts_with("％")) return true;
    at = text.find(';', at);
    if (at == text.npos) return false;
  }
}

}  // namespace

// The scores of StandardDeviation hold numbers behind semicolons; they are no formulas.
std::string csv_cell(std::string_view text) {
  std::string cell;
  const bool is_marked = !text.starts_with('(') && has_formula(text);
  append_csv(cell, (is_marked ? "'" : "") + std::string(text));
  return cell;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += csv_cell(cell) + ',';
  if (!line.empty()) line.pop_back();
  return line + "\r\n";
}

std::string shape_cell(const std::vector<int64_t>& shape) { return "[" + join(shape, ",") + "]"; }

std::string address_cell(uint64_t address) {
  return address == 0 ? "NaN" : std::to_string(address);
}

void append_scores(const ResultRow& row, const Selection& algorithms,
                   std::vector<std::string>& cells) {
  for (size_t i = 0; i < algorithms.size(); ++i)
    cells.push_back(row.scores.empty() ? "NaN" : row.scores[i]);
}

std::string to_csv(const ResultTable& table) {
  std::vector<std::string> header{"Index"};
  if (table.has_sequence) header.emplace_back("OpSequence");
  for (const char* name : {"OpType", "NPUDump", "DataType"}) header.emplace_back(name);
  if (table.has_target_address) header.emplace_back("Address");
  for (const char* name : {"GroundTruth", "DataType"}) header.emplace_back(name);
  if (table.has_golden_address) header.emplace_back("Address");
  for (const char* name : {"TensorIndex", "Shape"}) header.emplace_back(name);
  if (table.has_overflow) header.emplace_back("OverFlow");
  for (const Algorithm* algorithm : table.algorithms) header.emplace_back(algorithm->name);
  for (const char* name : {"CompareFailReason", "Status", "ReasonCode"}) header.emplace_back(name);

  std::string csv = csv_line(header);
  for (const ResultRow& row : table.rows) {
    std::vector<std::string> cells{std::to_string(row.index)};
    if (table.has_sequence) cells.push_back(std::to_string(row.sequence));
    cells.insert(cells.end(), {row.type, row.target, row.target_dtype});
    if (table.has_target_address) cells.push_back(row.target_address);
    cells.insert(cells.end(), {row.golden, row.golden_dtype});
    if (table.has_golden_address) cells.push_back(row.golden_address);
    cells.insert(cells.end(), {row.tensor, row.shape});
    if (table.has_overflow) cells.push_back(row.overflow);
    append_scores(row, table.algorithms, cells);
    cells.push_back(fmt::format("{}", fmt::join(row.reasons, ",")));
    cells.emplace_back(!row.is_compared    ? "not compared"
                       : row.codes.empty() ? "compared"
                                           : "doubtful");
    cells.push_back(fmt::format("{}", fmt::join(row.codes, " ")));
    csv += csv_line(cells);
  }
  return csv;
}

}  // namespace plumb::msaccucmp
