// SPDX-License-Identifier: Apache-2.0
//
// A directory for what a command makes on its way, gone when the command ends unless the user keeps
// it.
#pragma once

#include <filesystem>
#include <string>

#include "plumb/result.h"

namespace plumb {

class TemporaryDirectory {
 public:
  // In the system's place for such things (TMPDIR), or `kept`, which must be new or empty.
  static Result<TemporaryDirectory> make(const std::string& kept = {},
                                         const std::string& prefix = "plumb");
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::move(other.path_)), is_kept_(other.is_kept_) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryDirectory() = default;
  std::filesystem::path path_;
  bool is_kept_ = false;
};

}  // namespace plumb
