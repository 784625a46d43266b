// SPDX-License-Identifier: Apache-2.0
//
// Temporary files and directories of processes that are gone, removed by the next one that works in
// the same place. Whether a maker still lives is told by a lock (flock) that it holds on what it
// made: the kernel drops it however the process ends, on whatever machine. Names would not do:
// numbers of processes are used again, and containers have their own.
#pragma once

#include <filesystem>
#include <string>

namespace plumb {

// Holds what was just made at `path` and is open as `descriptor`, until that is closed. False if a
// sweep has taken it away: make another one. True where the file system knows no locks, too;
// nothing can be locked there by a sweep either.
bool hold_temporary(int descriptor, const std::string& path);

// Names under which files are written before they get their own.
std::string temporary_file_name();
// Removes such files of `directory` that nobody holds. Looks only once in the life of a process,
// and at a bounded number of files: it may be called for every file that is written.
void sweep_temporary_files(const std::filesystem::path& directory);

// A pattern for mkdtemp: `prefix` is "plumb" or starts with "plumb-".
std::string temporary_directory_pattern(const std::string& prefix);
// Removes such directories of ours in `base` that nobody holds, with all that is in them.
void sweep_temporary_directories(const std::filesystem::path& base);

}  // namespace plumb
