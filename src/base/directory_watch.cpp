// SPDX-License-Identifier: Apache-2.0
#include "base/directory_watch.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/bytes.h"

namespace plumb {

DirectoryWatch::DirectoryWatch() : descriptor_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

DirectoryWatch::~DirectoryWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool DirectoryWatch::add(const std::filesystem::path& directory) {
  constexpr uint32_t kEvents =
      IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW;
  if (descriptor_ < 0) return false;
  const int watch = ::inotify_add_watch(descriptor_, directory.c_str(), kEvents);
  if (watch < 0) return false;
  directories_[watch] = directory;
  return true;
}

DirectoryWatch::Changes DirectoryWatch::wait(int timeout_ms) {
  Changes changes;
  ::pollfd ready{descriptor_, POLLIN, 0};
  if (::poll(&ready, descriptor_ >= 0 ? 1 : 0, timeout_ms) <= 0) return changes;
  alignas(::inotify_event) char buffer[64 * 1024];
  for (;;) {
    const ssize_t size = ::read(descriptor_, buffer, sizeof buffer);
    if (size <= 0) return changes;
    for (ssize_t at = 0; at < size;) {
      const auto event = load_le<::inotify_event>(buffer + at);
      const char* name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) changes.any_lost = true;
      if ((event.mask & IN_IGNORED) != 0) directories_.erase(event.wd);
      const auto directory = directories_.find(event.wd);
      if (event.len == 0 || directory == directories_.end()) continue;
      const std::filesystem::path path = directory->second / name;
      if ((event.mask & IN_ISDIR) != 0)
        changes.directories.push_back(path);
      else if ((event.mask & IN_CREATE) != 0)
        changes.created.push_back(path);
      else
        changes.closed.push_back(path);
    }
  }
}

}  // namespace plumb
