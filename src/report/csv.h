// SPDX-License-Identifier: Apache-2.0
//
// A table for spreadsheets and scripts, one line for each row: control characters in names show as
// \xNN. A metric that is undefined leaves its cell empty.
#pragma once

#include <string>
#include <vector>

#include "report/writer.h"

namespace plumb::report {

// begin, then a row as often as there are rows.
class CsvWriter {
 public:
  explicit CsvWriter(Put put) : put_(std::move(put)) {}

  void begin(const result::Run& run);  // the titles; its rows are not looked at
  void row(const result::Row& row);

 private:
  Put put_;
  result::Run run_;  // only what its columns are made from
  int64_t rows_ = 0;
  std::string line_;
};

}  // namespace plumb::report
