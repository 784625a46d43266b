// SPDX-License-Identifier: Apache-2.0
#include "base/free_path.h"

namespace plumb {

std::filesystem::path free_path(const std::filesystem::path& directory, const std::string& stem,
                                std::string_view extension) {
  const std::string end(extension);
  std::filesystem::path path = directory / (stem + end);
  std::error_code ignored;
  // A link that leads nowhere is there, too.
  for (int n = 1; std::filesystem::exists(std::filesystem::symlink_status(path, ignored)); ++n)
    path = directory / (stem + "_" + std::to_string(n) + end);
  return path;
}

}  // namespace plumb
