// SPDX-License-Identifier: Apache-2.0
//
// An output file that appears whole or not at all: written without a name in the same directory (or
// under a temporary one, where the file system cannot), synced (unless told not to), then put in
// the place of what is there. A process that is killed leaves nothing behind, or a temporary file
// that the next writer in that directory sweeps. Links are followed: the file they lead to is
// replaced. What is no regular file, such as a pipe or /dev/stdout, is written straight into and
// never replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

class FileSink {
 public:
  // `temporary_name`: for writers that must find what a crash left behind. They work beside `path`
  // itself: whatever is there is replaced. `is_named`: as on file systems that have no files
  // without a name, for tests.
  static Result<FileSink> create(const std::filesystem::path& path,
                                 const std::string& temporary_name = {}, bool is_named = false);
  // The error that `create` would end with, as far as it can be known without writing.
  static Result<void> check(const std::filesystem::path& path);
  FileSink(FileSink&& other) noexcept;
  FileSink& operator=(FileSink&& other) noexcept;
  ~FileSink();

  // Errors stick: a writer may write on and look at `commit` only.
  void write(Bytes data);
  void write(std::string_view text) { write(as_bytes(text)); }
  // Overwrites bytes already written, e.g. a size known only at the end. Pipes refuse it.
  void write_at(uint64_t offset, Bytes data);
  uint64_t position() const { return position_; }
  bool ok() const { return errno_ == 0; }

  // Everything written so far is on the disk afterwards and can be read from `temporary`.
  Result<void> sync();
  const std::string& temporary() const { return temporary_; }

  // Syncs and gives the file its name, unless written straight. With `synced` false the data may be
  // lost in a power cut, but never half seen.
  Result<void> commit(bool synced = true);

 private:
  FileSink() = default;
  void open_named(const std::filesystem::path& directory, const std::string& temporary_name);
  void flush();
  int publish();
  void discard() noexcept;

  std::filesystem::path path_;  // as the user named it
  std::string target_;          // what is replaced
  std::string temporary_;       // empty: it has no name, or is written straight
  std::vector<std::byte> pending_;
  uint64_t position_ = 0;
  int descriptor_ = -1;
  bool is_nameless_ = false;
  bool is_shared_ = false;  // a copy of a descriptor that others write to, too
  int errno_ = 0;
};

// A whole file at once.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace plumb
