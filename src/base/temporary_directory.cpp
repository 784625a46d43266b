// SPDX-License-Identifier: Apache-2.0
#include "base/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "base/leftovers.h"

namespace plumb {

namespace fs = std::filesystem;

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& prefix) {
  TemporaryDirectory directory;
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  sweep_temporary_directories(base);
  for (;;) {
    std::string name = (base / temporary_directory_pattern(prefix)).string();
    if (::mkdtemp(name.data()) == nullptr)
      return Error{"no temporary directory can be made", name + ": " + std::strerror(errno),
                   "set TMPDIR to a place with room"};
    directory.path_ = name;
    directory.descriptor_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory.descriptor_ < 0 && errno != ENOENT)
      return Error{"a temporary directory cannot be opened", name + ": " + std::strerror(errno),
                   "set TMPDIR to another place"};
    if (directory.descriptor_ >= 0 && hold_temporary(directory.descriptor_, name)) return directory;
    directory.remove();  // a sweep was faster
  }
}

void TemporaryDirectory::remove() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace plumb
