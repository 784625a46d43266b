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
  struct Leaf {
    Entry entry;            // operator, slot, statistics; timestamp counts the calls of the file
    std::string data_name;  // file in the data directory, empty if there is none
  };
  std::string task;
  std::string data_directory;  // empty if the file does not say
  std::vector<Leaf> leaves;    // in the order of the file
};

// Errors start with "byte N".
Result<DumpJson> parse_dump_json(Bytes file);

// True if `head`, the first bytes of a JSON file, is the beginning of such a file.
bool is_dump_json(std::string_view head);

}  // namespace plumb::dump
