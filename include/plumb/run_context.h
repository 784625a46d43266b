// SPDX-License-Identifier: Apache-2.0
//
// What a run carries along: how many threads it may use, how to report progress and warnings, and
// whether the user wants it to end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb {

struct RunContext {
  int jobs = 0;                        // threads; 0: one for each core
  std::atomic<bool> cancelled{false};  // set by Ctrl-C; long loops look at it between pieces
  // Bytes worked off since the last call; called from any thread. May be empty.
  std::function<void(int64_t bytes)> progress;
  // What is worth telling although the run goes on; never called by two threads at once. May be
  // empty.
  std::function<void(std::string_view text)> warn;

  void advance(int64_t bytes) const {
    if (progress) progress(bytes);
  }
  void tell(std::string_view text) const {
    if (warn) warn(text);
  }
};

}  // namespace plumb
#pragma GCC visibility pop
