// SPDX-License-Identifier: Apache-2.0
//
// Writes a result document (schema name plumb.result/1, docs/result.schema.json); json_read.h reads
// it back. A row is one line, and only one is in memory at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/row.h"

namespace plumb::result {

// Where the pieces of a document go, in order.
using Put = std::function<void(std::string_view)>;

// begin, a row as often as there are rows, end.
class JsonWriter {
 public:
  explicit JsonWriter(Put put) : put_(std::move(put)) {}

  // All that stands before the rows; those of `run` itself are not looked at.
  void begin(const Run& run, const Summary& summary);
  void row(const Row& row);
  void end(const std::vector<Finding>& findings);

 private:
  Put put_;
  std::vector<const metrics::Metric*> metrics_;
  std::vector<std::string> keys_;  // of these, as JSON: a comma, the name, a colon
  int64_t rows_ = 0;
  std::string text_;  // being put together
};

// Parts of the document for others to put into theirs: its members from "tool" on up to the graph,
// without braces; the list of findings; the details of a row.
std::string head_members(const Run& run, const Summary& summary);
std::string findings_json(const std::vector<Finding>& findings);
std::string details_json(const Details& details);

// A run that is in memory as a whole.
void write_json(const Run& run, const Put& put);

}  // namespace plumb::result
