// SPDX-License-Identifier: Apache-2.0
//
// Directories that a command makes: one for what it needs on its way, gone when the command ends,
// or a new one for what the user keeps.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plumb/result.h"

namespace plumb {

class TemporaryDirectory {
 public:
  // In the system's place for such things (TMPDIR).
  static Result<TemporaryDirectory> make(const std::string& prefix = "plumb");
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryDirectory() = default;
  std::filesystem::path path_;
};

// A directory that must be new or empty, as the user named it by this option.
Result<void> make_new_directory(const std::filesystem::path& path, std::string_view option);

}  // namespace plumb
