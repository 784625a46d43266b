// SPDX-License-Identifier: Apache-2.0
//
// An output file that appears whole or not at all: written under a temporary name in the same
// directory, synced (unless told not to), then renamed. Dropping the sink without `commit` removes
// the temporary file. Links are followed: the file they lead to is replaced. What is no regular
// file, such as a pipe or /dev/stdout, is written straight into and never replaced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

class FileSink {
 public:
  // `temporary_name` instead of a random one: for writers that must find what a crash left behind.
  // They work beside `path` itself: whatever is there is replaced.
  static Result<FileSink> create(const std::filesystem::path& path,
                                 const std::string& temporary_name = {});
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

  // Syncs and renames, unless written straight. With `synced` false the data may be lost in a power
  // cut, but never half seen.
  Result<void> commit(bool synced = true);

 private:
  FileSink() = default;
  void flush();
  void discard() noexcept;

  std::filesystem::path path_;  // as the user named it
  std::string target_;          // what is replaced
  std::string temporary_;       // empty: written straight
  std::vector<std::byte> pending_;
  uint64_t position_ = 0;
  int descriptor_ = -1;
  bool is_shared_ = false;  // a copy of a descriptor that others write to, too
  int errno_ = 0;
};

// A whole file at once.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace plumb
