// SPDX-License-Identifier: Apache-2.0
#include "base/unnamed_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace plumb {

namespace fs = std::filesystem;

Result<UnnamedFile> UnnamedFile::in_memory() {
  const int descriptor = ::memfd_create("plumb", MFD_CLOEXEC);
  if (descriptor >= 0) return UnnamedFile(descriptor);
  return Error{"no file can be made in memory", std::strerror(errno),
               "close other programs and try again"};
}

Result<UnnamedFile> UnnamedFile::on_disk() {
  std::error_code unknown;
  fs::path directory = fs::temp_directory_path(unknown);
  if (unknown) directory = "/tmp";
  int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {  // not every file system can
    std::string name = (directory / "plumb-XXXXXX").string();
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor >= 0) return UnnamedFile(descriptor);
  return Error{"no temporary file can be made",
               fmt::format("{}: {}", directory.string(), std::strerror(errno)),
               "set TMPDIR to a place with room"};
}

UnnamedFile::UnnamedFile(UnnamedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string UnnamedFile::path() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_);
}

Result<void> UnnamedFile::append(Bytes data) {
  while (!data.empty()) {
    const ssize_t count = ::write(descriptor_, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return Error{"a temporary file cannot be written", std::strerror(errno),
                   "set TMPDIR to a place with room"};
    data = data.subspan(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace plumb
