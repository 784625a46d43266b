// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace plumb {

namespace fs = std::filesystem;

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& kept,
                                                    const std::string& prefix) {
  TemporaryDirectory directory;
  std::error_code error;
  if (!kept.empty()) {
    fs::create_directories(kept, error);
    if (error)
      return Error{"the directory cannot be made", kept + ": " + error.message(),
                   "name another one"};
    if (!fs::is_empty(kept, error))
      return Error{"the directory is not empty", kept,
                   "name a new one: tensors of two runs would be mixed up"};
    directory.path_ = kept;
    directory.is_kept_ = true;
    return directory;
  }
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
  if (!path_.empty() && !is_kept_) fs::remove_all(path_, ignored);
}

}  // namespace plumb
