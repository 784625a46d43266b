// SPDX-License-Identifier: Apache-2.0
//
// Reduces every dump file below a directory, once or as they arrive. A file's turn comes when its
// writer has closed it, or when it has been quiet for a while; what is not a whole dump file then
// is left alone and looked at again when it changes. One process per directory: a lock file says
// so.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "plumb/run_context.h"
#include "scan/reduce_file.h"

namespace plumb::scan {

struct ReduceTreeOptions {
  ReduceOptions file;
  bool watch = false;                              // go on until cancelled or idle
  bool poll = false;                               // do not ask the kernel, look every interval
  std::chrono::milliseconds quiet{2000};           // a file not changed for so long is finished
  std::chrono::milliseconds interval{500};         // between two looks
  std::optional<std::chrono::seconds> until_idle;  // end when nothing has happened for so long
};

struct ReduceProgress {
  size_t files = 0;    // reduced
  size_t waiting = 0;  // found, but not finished by their writers, or in trouble
  uint64_t bytes_before = 0, bytes_after = 0;
};

struct ReduceReport {
  ReduceProgress totals;
  size_t already = 0;       // of the files: their statistics were there
  size_t before = 0;        // files that were reduced before this run, without their dump files
  size_t no_sketch = 0;     // of these: a sketch was asked for, and the data is gone
  std::vector<Error> left;  // why files that look like dumps are as they were, by path
  bool is_watched = false;  // the kernel told of changes
};

// `tell` is called for every file that was looked at, from one thread at a time.
using ReduceTell = std::function<void(const std::filesystem::path& path,
                                      const ReduceOutcome& outcome, const ReduceProgress& now)>;

// Fails if the directory cannot be used, has no dump file, or another process has it. When the run
// is cancelled, files in work are finished first.
Result<ReduceReport> reduce_tree(const std::filesystem::path& root,
                                 const ReduceTreeOptions& options, const RunContext& context,
                                 const ReduceTell& tell);

}  // namespace plumb::scan
