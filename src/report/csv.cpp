// SPDX-License-Identifier: Apache-2.0
#include "report/csv.h"

#include "base/csv.h"
#include "base/shortest.h"
#include "base/utf8.h"
#include "report/row_cells.h"
#include "result/value_text.h"

namespace plumb::report {
namespace {

// Cells are appended in place, a comma behind each: a result has millions of them.
struct CsvCells {
  std::string& line;

  void text(std::string_view name) {
    if (is_plain_csv(name)) {
      line.append(name.size() + 1, ',');  // both at once
      name.copy(line.data() + line.size() - name.size() - 1, name.size());
      return;
    }
    append_csv_text(line, is_plain_text(name) ? name : printable(name));
    line += ',';
  }
  void count(std::optional<int64_t> count) {
    if (const fmt::format_int digits(count.value_or(0)); count)
      line.append(digits.data(), digits.size());
    line += ',';
  }
  void value(const metrics::Metric& metric, const metrics::Value* value) {
    char text[kShortestRoom + 1];
    char* end = text;
    if (value != nullptr && value->is_defined())
      end = result::write_exact(text, metric, value->number());
    *end++ = ',';
    line.append(text, static_cast<size_t>(end - text));
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
