// SPDX-License-Identifier: Apache-2.0
//
// A directory that one process at a time works in: a locked file in it, gone with its owner. A
// process that was killed leaves the file but no lock, and is no obstacle.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb {

class DirectoryLock {
 public:
  struct Kind {
    const char* file;    // in the directory
    const char* what;    // is wrong if somebody else has it
    const char* remedy;  // what to try then
  };
  // Of those who write files into a directory that the user named.
  static const Kind kWriting;

  // The directory must be there.
  static Result<DirectoryLock> take(const std::filesystem::path& directory, const Kind& kind);
  // For writing: the directory is made if it is not there, and removed again if nothing was
  // written.
  static Result<DirectoryLock> make(const std::filesystem::path& directory);
  // For the results of one run: it must be empty, too. `option` named it, for the message.
  static Result<DirectoryLock> make_empty(const std::filesystem::path& directory,
                                          std::string_view option = {});

  DirectoryLock(DirectoryLock&& other) noexcept { *this = std::move(other); }
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock() { release(); }

 private:
  explicit DirectoryLock(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  void close() noexcept;
  void release() noexcept;

  std::filesystem::path path_;  // of the file
  int descriptor_ = -1;
  bool is_made_ = false;  // the directory, by us
};

}  // namespace plumb
