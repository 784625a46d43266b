// SPDX-License-Identifier: Apache-2.0
//
// A directory for what a command makes on its way, gone when the command ends. Those of processes
// that were killed are removed when the next one is made.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "plumb/result.h"

namespace plumb {

class TemporaryDirectory {
 public:
  // In the system's place for such things (TMPDIR). `prefix` starts with "plumb".
  static Result<TemporaryDirectory> make(const std::string& prefix = "plumb");
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})), descriptor_(std::exchange(other.descriptor_, -1)) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() { remove(); }

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryDirectory() = default;
  void remove();

  std::filesystem::path path_;
  int descriptor_ = -1;  // holds it
};

}  // namespace plumb
