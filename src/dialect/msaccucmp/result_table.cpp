// SPDX-License-Identifier: Apache-2.0
#include "dialect/msaccucmp/result_table.h"

#include <charconv>

#include <fmt/format.h>

#include "tensor/shape.h"

namespace plumb::msaccucmp {
namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && stop == text.data() + text.size();
}

// Spreadsheets run a cell that begins like this.
bool looks_like_formula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-%@";
  constexpr std::string_view kWide[] = {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D",
                                        "\xEF\xBC\x85", "\xEF\xBC\xA0"};
  for (size_t at = 0; at != std::string_view::npos;) {
    const std::string_view rest = text.substr(at);
    if (!rest.empty() && kStarts.find(rest[0]) != std::string_view::npos && !is_number(rest))
      return true;
    for (std::string_view wide : kWide)
      if (rest.starts_with(wide)) return true;
    at = text.find(';', at);
    if (at != std::string_view::npos) ++at;
  }
  return false;
}

}  // namespace

// The scores of StandardDeviation hold numbers behind semicolons; they are no formulas.
std::string csv_cell(std::string_view text) {
  std::string cell;
  if (!text.starts_with('(') && looks_like_formula(text)) cell = "'";
  cell += text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty() || &cell != &cells.front()) line += ',';
    line += csv_cell(cell);
  }
  return line + "\r\n";
}

std::string shape_cell(const std::vector<int64_t>& shape) { return "[" + join(shape, ",") + "]"; }

std::string address_cell(uint64_t address) {
  return address == 0 ? "NaN" : std::to_string(address);
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
    const auto& scores = row.scores.empty() ? no_scores(table.algorithms).cells : row.scores;
    cells.insert(cells.end(), scores.begin(), scores.end());
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
