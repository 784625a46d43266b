// SPDX-License-Identifier: Apache-2.0
//
// A table for spreadsheets and scripts, quoted as RFC 4180 says, one line for each row: control
// characters in names show as \xNN. A metric that is undefined leaves its cell empty.
#include <charconv>

#include <fmt/compile.h>
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
bool is_formula(std::string_view text) { return starts_like_formula(text) && !is_number(text); }

// One line of the table, a comma behind every cell. Cells are appended in place: a result has
// millions of them.
class Line {
 public:
  void text(std::string_view name) {
    std::string safe;
    if (!is_plain(name)) name = safe = printable(name);
    const bool formula = is_formula(name), quotes = name.find_first_of("\",") != name.npos;
    if (quotes) text_ += '"';
    if (formula) text_ += '\'';
    if (quotes)
      for (const char c : name) text_.append(c == '"' ? 2 : 1, c);
    else
      text_ += name;
    text_ += quotes ? "\"," : ",";
  }
  void shape(const Side& side) {
    if (side.shape) return text(to_string(*side.shape));
    text_ += ',';
  }
  void number(std::optional<int64_t> value) {
    if (value) fmt::format_to(std::back_inserter(text_), FMT_COMPILE("{}"), *value);
    text_ += ',';
  }
  void number(const metrics::Metric& metric, double value) {
    append_exact(text_, metric, value);
    text_ += ',';
  }
  void nothing() { text_ += ','; }

  // Without the last comma. Valid until the next line begins.
  std::string_view end() {
    text_.back() = '\n';
    return text_;
  }
  void begin() { text_.clear(); }

 private:
  std::string text_;
};

std::string_view line(const Run& run, size_t id, Line& line) {
  static const Side kNone;
  const Row& row = run.rows[id];
  const Side& target = row.target ? *row.target : kNone;
  const Side& golden = row.golden ? *row.golden : kNone;
  line.begin();
  line.number(static_cast<int64_t>(id));
  line.number(row.step);
  line.number(row.rank);
  line.text(target.operator_name);
  line.text(target.type);
  line.text(target.slot);
  line.text(target.dtype);
  line.shape(target);
  line.text(golden.operator_name);
  line.text(golden.slot);
  line.text(golden.dtype);
  line.shape(golden);
  line.text(name_of(row.verdict));
  line.text(row.suspicious ? "yes" : "");
  line.text(row.reasons.size() == 1 ? row.reasons[0]
                                    : fmt::format("{}", fmt::join(row.reasons, " ")));
  for (size_t i = 0; i < run.metrics.size(); ++i) {
    if (i < row.values.size() && row.values[i].is_defined())
      line.number(*run.metrics[i], row.values[i].number());
    else
      line.nothing();
  }
  for (const std::string* text : {&row.message, &row.hint, &target.file, &golden.file})
    line.text(*text);
  return line.end();
}

}  // namespace

void write_csv(const Run& run, const Put& put) {
  Line row;
  for (const std::string_view title :
       {"id", "step", "rank", "target_operator", "target_type", "target_slot", "target_dtype",
        "target_shape", "golden_operator", "golden_slot", "golden_dtype", "golden_shape", "verdict",
        "suspicious", "reasons"})
    row.text(title);
  for (const metrics::Metric* metric : run.metrics) row.text(metric->name);
  for (const std::string_view title : {"message", "hint", "target_file", "golden_file"})
    row.text(title);
  put(row.end());
  for (size_t id = 0; id < run.rows.size(); ++id) put(line(run, id, row));
}

}  // namespace plumb::report
