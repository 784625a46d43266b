// SPDX-License-Identifier: Apache-2.0
//
// A saved result opened again: the session that made it, if the tensors are still there.
#pragma once

#include <filesystem>
#include <optional>

#include "plumb/session.h"

namespace plumb::diagnose {

// Where the sides are now; empty: as the result says, or beside it.
struct Moved {
  std::string target, golden;
};

struct Reopened {
  Session session;
  std::vector<RowId> ids;  // of each row its place in the session's plan; -1: it is gone
  int64_t gone = 0;        // rows that were compared and are not there any more
};

// nullopt if a side cannot be found or other tensors are there than the rows say; `why` then tells.
std::optional<Reopened> reopen(const result::Run& run, const std::filesystem::path& directory,
                               const Moved& moved, RunContext& context, std::string& why);

// Paths in a result are as they were typed, maybe beside the result.
std::string path_now(const std::string& path, const std::filesystem::path& directory);

}  // namespace plumb::diagnose
