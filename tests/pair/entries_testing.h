// SPDX-License-Identifier: Apache-2.0
//
// Dumps without files: entries as a listing would have them, for tests that only pair them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dump/listing.h"

namespace plumb::pair {

inline const dump::Slot kOutput;

inline dump::Slot input(int64_t index) { return {dump::SlotKind::kInput, index, {}}; }

inline dump::Entry entry(std::string name, dump::Slot slot = {}, int64_t timestamp = 0) {
  dump::Entry made;
  made.operator_name = std::move(name);
  made.slot = std::move(slot);
  made.timestamp = timestamp;
  return made;
}

// As a listing sorts them, and files that could not be read.
inline dump::DumpSet set_of(std::vector<dump::Entry> entries,
                            const std::vector<std::string>& damaged = {}) {
  dump::DumpSet set;
  set.entries = std::move(entries);
  dump::sort_entries(set.entries);
  for (const std::string& file : damaged)
    set.skipped.push_back(
        {file, "damaged", Error{"file is damaged", file + ", byte 8", "copy it"}});
  return set;
}

}  // namespace plumb::pair
