// SPDX-License-Identifier: Apache-2.0
//
// Tells which files in some directories were finished by their writers, by inotify. It is a help,
// not the truth: file systems shared with other machines tell only of our own, and the kernel drops
// what comes too fast. Who watches must also look from time to time.
#pragma once

#include <filesystem>
#include <unordered_map>
#include <vector>

namespace plumb {

class DirectoryWatch {
 public:
  DirectoryWatch();
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // False if the system has no more watches to give. Adding one twice does no harm.
  bool add(const std::filesystem::path& directory);

  struct Changes {
    std::vector<std::filesystem::path> closed;       // written and closed, or moved here
    std::vector<std::filesystem::path> created;      // and perhaps still being written
    std::vector<std::filesystem::path> directories;  // new ones
    bool any_lost = false;                           // look everywhere
  };
  // What has happened since; waits up to `timeout_ms` for something. A signal ends the wait.
  Changes wait(int timeout_ms);

 private:
  int descriptor_;
  std::unordered_map<int, std::filesystem::path> directories_;
};

}  // namespace plumb
