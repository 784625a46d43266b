// SPDX-License-Identifier: Apache-2.0
//
// Puts the statistics of a dump file in its place (see dump/reduced.h). At every moment, whatever
// happens, either the complete dump file or its complete replacement is there under its own name:
// the replacement is written beside it under a temporary name, synced, read back and compared,
// renamed, the directory synced, and only then the dump file is deleted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb::scan {

struct ReduceOptions {
  bool keep = false;    // the dump file, too
  bool sketch = false;  // store a sketch of each tensor
};

// How a file looked: one that looks the same has not been written to.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  uint64_t size_bytes = 0;
  int64_t time_ns = 0;  // of the last change to its contents
  bool operator==(const FileStamp&) const = default;
};
// Nothing if it is not there or no regular file; links are not followed.
std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

enum class ReduceState : uint8_t {
  kReduced,
  kUnreadable,    // not, or not yet, a whole dump file; it was not touched
  kBeingWritten,  // a process has it open for writing
  kNotWritten,    // no room, no right, ...; the dump file is as it was
  kChanged,       // somebody else took it away, or wrote to it while it was read
};

struct ReduceOutcome {
  ReduceState state = ReduceState::kReduced;
  std::optional<Error> error;
  uint64_t bytes_before = 0, bytes_after = 0;
  bool was_done = false;  // the replacement was there already, a crash or --keep had left both
};

// `path` has a name that dump::reduced_name knows.
ReduceOutcome reduce_file(const std::filesystem::path& path, const ReduceOptions& options);

// The name under which the replacement of a dump file is written, and whether a name is such a one.
std::string temporary_name(const std::string& name);
bool is_temporary_name(std::string_view name);

}  // namespace plumb::scan
