// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace plumb {

namespace fs = std::filesystem;

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& prefix) {
  TemporaryDirectory directory;
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  std::string name = ((error ? fs::path("/tmp") : base) / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr)
    return Error{"no temporary directory can be made", name + ": " + std::strerror(errno),
                 "set TMPDIR to a place with room"};
  directory.path_ = name;
  return directory;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<void> make_new_directory(const fs::path& path, std::string_view option) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return Error{"the directory cannot be made",
                 fmt::format("{} {}: {}", option, path.string(), error.message()),
                 "name another one"};
  if (fs::is_empty(path, error)) return {};
  return Error{"the directory is not empty", fmt::format("{} {}", option, path.string()),
               "name a new one: tensors of two runs would be mixed up"};
}

}  // namespace plumb
