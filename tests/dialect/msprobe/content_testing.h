// SPDX-License-Identifier: Apache-2.0
//
// What a command wrote.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace plumb::msprobe {

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plumb::msprobe
