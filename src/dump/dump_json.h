// SPDX-License-Identifier: Apache-2.0
//
// dump.json, in which msprobe lists every call it has seen with its arguments: tensors by their
// statistics, checksum and data file, other values as they are. Python writes it, so NaN and
// Infinity occur, which JSON does not know.
#pragma once

#include <string>
#include <vector>

#include "dump/dump.h"

namespace plumb::dump {

struct DumpJson {
  std::string task;
  std::string data_directory;  // as written; empty if the file does not say
  // In the order of the file, which `timestamp` counts the calls of. A part names a data file as it
  // is written, in the data directory.
  std::vector<Entry> entries;
};

// Errors start with "byte N".
Result<DumpJson> parse_dump_json(Bytes file);

// True if `head`, the first bytes of a JSON file, is the beginning of such a file.
bool is_dump_json(std::string_view head);

}  // namespace plumb::dump
