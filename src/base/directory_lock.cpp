// SPDX-License-Identifier: Apache-2.0
#include "base/directory_lock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leftovers.h"

namespace plumb {

namespace fs = std::filesystem;

const DirectoryLock::Kind DirectoryLock::kWriting{
    ".plumb.lock", "another plumb writes into this directory",
    "wait until it has finished, or name another directory"};

Result<DirectoryLock> DirectoryLock::take(const fs::path& directory, const Kind& kind) {
  const fs::path path = directory / kind.file;
  for (;;) {
    DirectoryLock lock(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (lock.descriptor_ < 0)
      return Error{"cannot make a lock file", path.string() + ": " + std::strerror(errno),
                   "check that the directory is writable"};
    // Where the file system knows no locks nobody is refused.
    if (::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      char text[32] = {};
      const ssize_t size = ::pread(lock.descriptor_, text, sizeof text - 1, 0);
      const std::string owner(text, text + std::max<ssize_t>(size, 0));
      lock.close();
      return Error{kind.what,
                   path.string() + ": held by process " + (owner.empty() ? "unknown" : owner),
                   kind.remedy};
    }
    struct stat ours, there;
    const bool is_current = ::fstat(lock.descriptor_, &ours) == 0 &&
                            ::lstat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
                            ours.st_dev == there.st_dev;
    if (!is_current) {  // its owner has just removed it
      lock.close();
      continue;
    }
    const std::string pid = std::to_string(::getpid());
    // For a message only: on a full disk it stays empty.
    if (::ftruncate(lock.descriptor_, 0) == 0)
      (void)!::pwrite(lock.descriptor_, pid.data(), pid.size(), 0);
    sweep_temporary_files(directory);
    return lock;
  }
}

Result<DirectoryLock> DirectoryLock::make(const fs::path& directory) {
  std::error_code error;
  const bool is_made = fs::create_directories(directory, error);
  if (error)
    return Error{"cannot create the directory", directory.string() + ": " + error.message(),
                 "choose another one, or check its permissions"};
  auto lock = take(directory, kWriting);
  if (lock) lock->is_made_ = is_made;
  return lock;
}

Result<DirectoryLock> DirectoryLock::make_empty(const fs::path& directory,
                                                std::string_view option) {
  auto lock = make(directory);
  if (!lock) return lock;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().filename() != kWriting.file)
      return Error{"the directory is not empty",
                   std::string(option) + (option.empty() ? "" : " ") + directory.string(),
                   "name a new one: files of two runs would be mixed up"};
  return lock;
}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  if (this == &other) return *this;
  release();
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  is_made_ = std::exchange(other.is_made_, false);
  return *this;
}

void DirectoryLock::close() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void DirectoryLock::release() noexcept {
  if (descriptor_ >= 0) ::unlink(path_.c_str());  // before others can have it
  close();
  if (is_made_) ::rmdir(path_.parent_path().c_str());  // which does nothing if there are files
}

}  // namespace plumb
