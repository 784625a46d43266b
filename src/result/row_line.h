// SPDX-License-Identifier: Apache-2.0
//
// What streaming finds out about a row, as one line of JSON. What the plan says of it is not there:
// whoever reads the line has the plan. Lines outlive a process and travel between machines (parts,
// journals, MPI), and a row that is read back finishes to the same bytes as the one that was
// written. A line has no line break.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "plumb/result.h"
#include "plumb/row.h"

namespace plumb::result {

// Which row a line is of, and what its files were when it was made.
struct RowKey {
  int64_t id = 0;
  uint64_t stamp = 0;
  bool operator==(const RowKey&) const = default;
};

void append_row_line(std::string& line, const RowKey& key, const Row& row);

// Not for several threads at a time.
class RowLineReader {
 public:
  explicit RowLineReader(std::vector<const metrics::Metric*> metrics);
  RowLineReader(RowLineReader&&) noexcept;
  RowLineReader& operator=(RowLineReader&&) noexcept;
  ~RowLineReader();

  // The key alone.
  Result<RowKey> key(std::string_view line);
  // Adds what the line says to a row that has what the plan says.
  Result<RowKey> read(std::string_view line, Row& row);
  // What the values of all rows refer to: see Run::words.
  std::shared_ptr<const std::unordered_set<std::string>> words() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace plumb::result
