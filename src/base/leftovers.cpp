// SPDX-License-Identifier: Apache-2.0
#include "base/leftovers.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb {
namespace {

constexpr std::string_view kFilePrefix = ".plumb-";   // then PROCESS-NUMBER
constexpr std::string_view kDirectoryMark = "-tmp-";  // then six letters
constexpr int kMostEntries = 65536;  // of a directory; reading them takes some 20 ms

bool is_file_name(std::string_view name) {
  if (!name.starts_with(kFilePrefix)) return false;
  name.remove_prefix(kFilePrefix.size());
  const size_t dash = name.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) &&
         is_number(name.substr(dash + 1));
}

bool is_directory_name(std::string_view name) {
  constexpr size_t kLetters = 6;  // of mkdtemp
  return name.starts_with("plumb") && name.size() > kLetters + kDirectoryMark.size() &&
         name.substr(0, name.size() - kLetters).ends_with(kDirectoryMark);
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Hands the names that are ours and nobody holds to `remove`, while we hold them. The name is
// looked at again under the lock: its maker may have given the file its real name meanwhile.
void for_each_abandoned(const std::filesystem::path& directory, bool (*is_ours)(std::string_view),
                        int open_flags, mode_t kind,
                        const std::function<void(int parent, const char* name)>& remove) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (!listing) return;
  const int parent = ::dirfd(listing.get());
  int left = kMostEntries;
  while (const dirent* item = left-- > 0 ? ::readdir(listing.get()) : nullptr) {
    if (!is_ours(item->d_name)) continue;
    const int descriptor =
        ::openat(parent, item->d_name, open_flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat held, named;
    if (::fstat(descriptor, &held) == 0 && (held.st_mode & S_IFMT) == kind &&
        held.st_uid == ::geteuid() && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
        ::fstatat(parent, item->d_name, &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same(held, named))
      remove(parent, item->d_name);
    ::close(descriptor);
  }
}

}  // namespace

bool hold_temporary(int descriptor, const std::string& path) {
  int failed = 0;
  do {
    failed = ::flock(descriptor, LOCK_EX);  // a sweep has it for a moment only
  } while (failed != 0 && errno == EINTR);
  struct stat held, named;
  return failed != 0 || (::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
                         is_same(held, named));
}

std::string temporary_file_name() {
  static std::atomic<unsigned> counter{0};
  return std::string(kFilePrefix) + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

void sweep_temporary_files(const std::filesystem::path& directory) {
  static std::mutex guard;
  static std::set<std::string> swept;  // as named: twice under two names is no harm
  {
    const std::lock_guard lock(guard);
    if (!swept.insert(directory.string()).second) return;
  }
  for_each_abandoned(directory, is_file_name, O_RDWR, S_IFREG,
                     [](int parent, const char* name) { ::unlinkat(parent, name, 0); });
}

std::string temporary_directory_pattern(const std::string& prefix) {
  return prefix + std::string(kDirectoryMark) + "XXXXXX";
}

void sweep_temporary_directories(const std::filesystem::path& base) {
  for_each_abandoned(base, is_directory_name, O_RDONLY | O_DIRECTORY, S_IFDIR,
                     [&](int, const char* name) {
                       std::error_code ignored;
                       std::filesystem::remove_all(base / name, ignored);
                     });
}

}  // namespace plumb
