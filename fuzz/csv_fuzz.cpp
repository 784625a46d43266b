// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a table. Its cells written again are the same table, whose quotes are all closed.
#include "base/csv.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (CsvReader reader(text); reader.next();) {
    if (reader.cells().empty()) __builtin_trap();
    std::string line =
        "before\n";  // only at the start of a text would a byte order mark be skipped
    for (const std::string& cell : reader.cells()) {
      if (&cell != &reader.cells().front()) line += ',';
      reader.cells().size() > 1 ? append_csv(line, cell) : append_csv_quoted(line, cell);
    }
    CsvReader again(line);
    if (!again.next() || !again.next() || again.cells() != reader.cells()) __builtin_trap();
    if (again.open_quote() || again.closes_early() || again.next()) __builtin_trap();
  }
  return 0;
}
