// SPDX-License-Identifier: Apache-2.0
//
// A saved result opened again: the session that made it, if the dumps are still there.
#pragma once

#include <filesystem>
#include <optional>

#include "plumb/session.h"

namespace plumb::diagnose {

// Where the sides are now; empty: as the result says, or beside it.
struct Moved {
  std::string target, golden;
};

// nullopt if a side cannot be found or other tensors are there than the rows say; `why` then tells.
std::optional<Session> reopen(const result::Run& run, const std::filesystem::path& directory,
                              const Moved& moved, RunContext& context, std::string& why);

}  // namespace plumb::diagnose
