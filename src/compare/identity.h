// SPDX-License-Identifier: Apache-2.0
//
// Whether rows that were made elsewhere or earlier belong to this comparison: the same program,
// sides, options, limits and plan. Files that the rows were made from have stamps of their own.
#pragma once

#include <string>

#include "compare/session_state.h"

namespace plumb::compare {

struct Identity {
  std::string version;         // of the program
  std::string target, golden;  // paths, as the user gave them
  std::string options;         // a digest of all that decides what a row says, limits included
  std::string plan;            // ... and of which tensors are compared
  int64_t rows = 0;            // of the plan
  bool operator==(const Identity&) const = default;
};

Identity identity_of(const SessionState& state);

// How `other` differs from `own`, a clause with both; empty if it does not.
std::string difference(const Identity& own, const Identity& other);

// {"version": "0.1.0", "target": "npu/", ...}; nullopt if it is no such text.
std::string to_json(const Identity& identity);
std::optional<Identity> identity_from_json(std::string_view json);

// What the files of a row are, by size and time, and how much is read of them. A row that has
// nothing to compare has neither.
struct Stamp {
  uint64_t digest = 0;
  int64_t bytes = 0;
};
// Of these rows of the plan. Asks the file system, on all cores.
std::vector<Stamp> stamps_of(const SessionState& state, std::span<const RowId> rows);
std::vector<RowId> all_rows(const SessionState& state);
std::vector<uint64_t> digests_of(std::span<const Stamp> stamps);

}  // namespace plumb::compare
