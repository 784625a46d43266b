// SPDX-License-Identifier: Apache-2.0
#include "report/csv.h"

#include "base/csv.h"
#include "base/utf8.h"
#include "report/row_cells.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

// Cells are appended in place, a comma behind each: a result has millions of them.
struct CsvCells {
  std::string& line;

  void text(std::string_view name) {
    if (is_plain_csv(name))
      line += name;
    else
      append_csv_text(line, is_plain_text(name) ? name : printable(name));
    line += ',';
  }
  void count(std::optional<int64_t> count) {
    if (const fmt::format_int digits(count.value_or(0)); count)
      line.append(digits.data(), digits.size());
    line += ',';
  }
  void value(const metrics::Metric& metric, const metrics::Value* value) {
    if (value != nullptr && value->is_defined())
      result::append_exact(line, metric, value->number());
    line += ',';
  }
};

}  // namespace

void CsvWriter::begin(const result::Run& run) {
  run_.metrics = run.metrics;
  run_.samples = run.samples;
  rows_ = 0;
  line_.clear();
  for (const SheetColumn& column : row_columns(run_)) CsvCells{line_}.text(column.title);
  line_.back() = '\n';
  put_(line_);
}

void CsvWriter::row(const result::Row& row) {
  line_.clear();
  CsvCells cells{line_};
  add_row_cells(run_, rows_++, row, cells);
  line_.back() = '\n';
  put_(line_);
}

void write_csv(const result::Run& run, const Put& put) {
  CsvWriter writer(put);
  writer.begin(run);
  for (const result::Row& row : run.rows) writer.row(row);
}

}  // namespace plumb::report
