// SPDX-License-Identifier: Apache-2.0
//
// What a set of calibration data holds: tar, tar.gz, zip, or a directory. Nothing is unpacked to
// disk, and names inside are only looked at.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb::input {

struct ArchiveEntry {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t hash = 0;  // of the content; equal for equal files of one archive
};

// The files of an archive in memory, in its order.
Result<std::vector<ArchiveEntry>> list_archive(Bytes file);

// Regular files, in the order of the archive; of a directory all below it, by name.
Result<std::vector<ArchiveEntry>> list_archive(const std::string& path);

}  // namespace plumb::input
