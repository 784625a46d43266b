// SPDX-License-Identifier: Apache-2.0
//
// What a run carries along: how to report progress and whether the user wants it to end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace plumb {

struct RunContext {
  std::atomic<bool> cancelled{false};  // set by Ctrl-C; long loops look at it between pieces
  // Bytes worked off since the last call; called from any thread. May be empty.
  std::function<void(int64_t bytes)> progress;

  void advance(int64_t bytes) const {
    if (progress) progress(bytes);
  }
};

}  // namespace plumb
