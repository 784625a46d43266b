// SPDX-License-Identifier: Apache-2.0
//
// What a set of calibration data holds: tar, tar.gz, zip, or a directory. Nothing is unpacked to
// disk, and names inside are only looked at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/unnamed_file.h"
#include "plumb/result.h"

namespace plumb::input {

struct ArchiveEntry {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t hash = 0;          // of the content; equal for equal files of one archive
  uint64_t offset_bytes = 0;  // of its data in a tar, unpacked if it is packed
};

// The files of an archive in memory, in its order.
Result<std::vector<ArchiveEntry>> list_archive(Bytes file);

// Regular files, in the order of the archive; of a directory all below it, by name.
Result<std::vector<ArchiveEntry>> list_archive(const std::string& path);

// The files of a tar, tar.gz or zip, one at a time.
class Archive {
 public:
  static Result<std::shared_ptr<const Archive>> open(const std::string& path);
  virtual ~Archive() = default;
  const std::vector<ArchiveEntry>& entries() const { return entries_; }
  // As a file in memory.
  virtual Result<UnnamedFile> unpacked(size_t entry) const = 0;

 protected:
  std::vector<ArchiveEntry> entries_;
};

// Told by content; but a zip that is called .npz is one file of tensors.
bool is_archive(const std::string& path);

}  // namespace plumb::input
