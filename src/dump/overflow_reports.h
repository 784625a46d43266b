// SPDX-License-Identifier: Apache-2.0
//
// Overflow debug records in a dump: what a compute unit noted about a task in which a value
// overflowed, and the tensors of the operator that ran as this task.
#pragma once

#include "dump/dump.h"
#include "io/ascend_overflow.h"

namespace plumb::dump {

// What one unit reports. A record of the old layout may hold up to three of these.
struct OverflowReport {
  const Entry* record = nullptr;  // in DumpSet::entries, as are the others
  io::OverflowUnit unit;
  // The operator's tensors by slot, and the file they are in. Without tensors but with a file: it
  // is damaged. Without either: the operator was not dumped.
  std::vector<const Entry*> tensors;
  std::string dump_file;
};

struct OverflowReports {
  std::vector<OverflowReport> reports;  // by time
  size_t records = 0;                   // read; one that reports nothing has only zero status words
  std::vector<Error> damaged;
  std::vector<std::string> warnings;
};

bool is_overflow_record(const Entry& entry);

// The operator of a record is looked for in the record's directory: same task and stream, and same
// context and thread where both tell them; the earliest if there are several.
OverflowReports read_overflow_reports(const DumpSet& set, const io::ReadHints& hints);

}  // namespace plumb::dump
