// SPDX-License-Identifier: Apache-2.0
//
// A file's bytes for reading. Small files are read into memory (cheaper than a mapping), large ones
// are mapped; `release` gives back the pages of a part that has been used, so that streaming
// through a huge file needs little memory.
//
// A file that is changed while it is read must not look like one that was wrong from the start, or,
// worse, right: what is read into memory is looked at before and after, what is mapped by `check`.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

// What changes when a file is written to.
struct FileVersion {
  uint64_t size_bytes = 0;
  int64_t written_ns = 0;  // since the epoch
  int64_t changed_ns = 0;  // the same, but programs cannot set it back
  uint64_t links = 0;      // whose number changes that time, too, and nothing in the file
  bool operator==(const FileVersion& other) const {
    return size_bytes == other.size_bytes && written_ns == other.written_ns &&
           (changed_ns == other.changed_ns || links != other.links);
  }
};

class MappedFile {
 public:
  // With `map` false a large file is read into memory, too: for hosts that want no handler of
  // SIGBUS, which the first mapping installs. `meanwhile` is called between reading and the look
  // afterwards, for tests.
  static Result<MappedFile> open(const std::string& path, bool map = true,
                                 void (*meanwhile)(const std::string& path) = nullptr);
  // Bytes that somebody else keeps alive, for whoever reads files only.
  static MappedFile of_memory(Bytes bytes);
  // The file of which `bytes` are a mapped part, opened once more for somebody else; the caller
  // closes it. Nothing if they are no such part, or if the path leads to another file by now.
  struct Part {
    int descriptor = -1;
    uint64_t offset = 0;
  };
  static std::optional<Part> reopen(Bytes bytes);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid as long as this object lives and has not been moved from.
  Bytes bytes() const { return bytes_; }

  // The pages of `part` (of `bytes()`) are about to be read, here and there: all are mapped now.
  // Who reads front to back does better with faults, each of which maps a few neighbours.
  void prepare(Bytes part) const;
  // They may leave memory; reading them again is fine.
  void release(Bytes part) const;
  // `size` bytes were read in small parts, not worth a call each: now and then everything may go.
  void count_small_read(size_t size) const;

  // False once a read hit a part of the file that is gone: it was truncated, or the device failed,
  // after we opened it. Such bytes read as zero; whoever used them must drop what it computed.
  bool intact() const;
  // After the last read: the error if the file is not what it was when it was opened, by size or
  // time. One system call if it is mapped.
  Result<void> check(const std::string& path) const;

 private:
  void close() noexcept;
  void advise(Bytes part, int advice) const;

  Bytes bytes_;
  std::unique_ptr<std::byte[]> heap_;
  mutable std::atomic<size_t> read_in_parts_{0};
  int guard_ = -1;       // in the table of guarded mappings, -1 if not mapped
  int descriptor_ = -1;  // of a mapped file
  FileVersion version_;  // of a mapped file, when it was opened
};

}  // namespace plumb
