// SPDX-License-Identifier: Apache-2.0
//
// A table for spreadsheets and scripts, quoted as RFC 4180 says, one line for each row: control
// characters in names show as \xNN. A metric that is undefined leaves its cell empty.
#include <charconv>

#include <fmt/format.h>

#include "report/text.h"
#include "report/writer.h"

namespace plumb::report {
namespace {

using result::Row;
using result::Run;
using result::Side;

bool is_number(std::string_view text) {
  double number = 0;
  text.remove_prefix(text.starts_with('+'));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

// Names come from files. A spreadsheet would run one that starts like a formula, so such a cell
// gets the apostrophe that marks text.
std::string cell(std::string_view name) {
  std::string text = printable(name);
  if (starts_like_formula(text) && !is_number(text)) text.insert(0, "'");
  if (text.find_first_of("\",") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string number(const std::optional<int64_t>& value) {
  return value ? fmt::to_string(*value) : "";
}

std::string line(const Run& run, size_t id) {
  static const Side kNone;
  const Row& row = run.rows[id];
  const Side& target = row.target ? *row.target : kNone;
  const Side& golden = row.golden ? *row.golden : kNone;
  std::vector<std::string> cells = {fmt::to_string(id),
                                    number(row.step),
                                    number(row.rank),
                                    cell(target.operator_name),
                                    cell(target.type),
                                    cell(target.slot),
                                    cell(target.dtype),
                                    cell(shape_text(target)),
                                    cell(golden.operator_name),
                                    cell(golden.slot),
                                    cell(golden.dtype),
                                    cell(shape_text(golden)),
                                    cell(name_of(row.verdict)),
                                    row.suspicious ? "yes" : "",
                                    cell(fmt::format("{}", fmt::join(row.reasons, " ")))};
  for (size_t i = 0; i < run.metrics.size(); ++i) {
    const bool known = i < row.values.size() && row.values[i].is_defined();
    cells.push_back(known ? exact_text(*run.metrics[i], row.values[i].number()) : "");
  }
  for (const std::string* text : {&row.message, &row.hint, &target.file, &golden.file})
    cells.push_back(cell(*text));
  return fmt::format("{}\n", fmt::join(cells, ","));
}

}  // namespace

void write_csv(const Run& run, const Put& put) {
  put("id,step,rank,target_operator,target_type,target_slot,target_dtype,target_shape,"
      "golden_operator,golden_slot,golden_dtype,golden_shape,verdict,suspicious,reasons,");
  for (const metrics::Metric* metric : run.metrics) put(cell(metric->name) + ",");
  put("message,hint,target_file,golden_file\n");
  for (size_t id = 0; id < run.rows.size(); ++id) put(line(run, id));
}

}  // namespace plumb::report
