// SPDX-License-Identifier: Apache-2.0
//
// A temporary directory for one test, gone afterwards.
#pragma once

#include <filesystem>
#include <string>

#include <stdlib.h>

namespace plumb {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumb-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace plumb
