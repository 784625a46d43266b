// SPDX-License-Identifier: Apache-2.0
#include "base/file_sink.h"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/number_from_text.h"

namespace plumb {
namespace {

constexpr size_t kPendingBytes = 64 * 1024;

int write_all(int descriptor, const std::byte* data, size_t size) {
  while (size > 0) {
    ssize_t done = ::write(descriptor, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    data += done;
    size -= static_cast<size_t>(done);
  }
  return 0;
}

Error cannot_write(const std::filesystem::path& path, int code) {
  const auto remedy = [&] {
    switch (code) {
      case ENOSPC: return "free some space or choose another directory";
      case EISDIR: return "name a file in it";
      case ESPIPE: return "this kind of output needs a regular file: name one";
      default: return "check that the directory exists and is writable";
    }
  };
  return {"cannot write the file", path.string() + ": " + std::strerror(code), remedy()};
}

// A terminal or a pipe has nothing to sync.
int sync_error(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP ? 0
                                                                                           : errno;
}

std::string own_link(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// A file without a name, which goes away with its descriptor. -1 where there is no such thing, or
// where it could not get a name later: that needs /proc, and a file that is ours.
int open_nameless(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  struct ::stat ours, linked;
  if (::fstat(descriptor, &ours) == 0 && ours.st_uid == ::geteuid() &&
      ::stat(own_link(descriptor).c_str(), &linked) == 0 && linked.st_ino == ours.st_ino)
    return descriptor;
  ::close(descriptor);
  return -1;
}

// Where bytes for a path have to go.
struct Destination {
  std::filesystem::path path;     // links followed
  std::optional<int> descriptor;  // set: of this process, to write to
  bool is_special = false;        // not a regular file: written straight
};

// N of /proc/self/fd/N, which is what /dev/stdout and /dev/fd/N lead to. Opening it again would
// start at the first byte of a file that is being appended to, and cannot be done with a socket.
std::optional<int> own_descriptor(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const auto number = number_from_text<int>(name);
  if (!number || *number < 0) return {};
  std::error_code unknown;
  const auto directory = std::filesystem::canonical(path.parent_path(), unknown);
  if (unknown || directory != "/proc/" + std::to_string(::getpid()) + "/fd") return {};
  return number;
}

Result<Destination> destination_of(const std::filesystem::path& given) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  std::filesystem::path path = given;
  bool is_special = false;
  for (int i = 0; i < kMostLinks; ++i) {
    if (const auto own = own_descriptor(path)) return Destination{path, own, true};
    struct ::stat status;
    if (::stat(path.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) return cannot_write(given, EISDIR);
      is_special = !S_ISREG(status.st_mode);
    }
    const bool is_there = ::lstat(path.c_str(), &status) == 0;
    if (!is_there && errno != ENOENT) return cannot_write(given, errno);
    // The link of another process's pipe names no file, but it can be opened.
    if (!is_there && is_special) return Destination{given, {}, true};
    if (!is_there || !S_ISLNK(status.st_mode)) return Destination{path, {}, is_special};
    std::error_code failed;
    const auto next = std::filesystem::read_symlink(path, failed);
    if (failed) return cannot_write(given, failed.value());
    path = path.parent_path() / next;
  }
  return cannot_write(given, ELOOP);
}

}  // namespace

Result<void> FileSink::check(const std::filesystem::path& path) {
  auto destination = destination_of(path);
  if (!destination) return destination.error();
  if (destination->descriptor) return {};
  const std::filesystem::path parent = destination->path.parent_path();
  const std::string place = destination->is_special ? destination->path.string()
                            : parent.empty()        ? "."
                                                    : parent.string();
  const int mode = destination->is_special ? W_OK : W_OK | X_OK;
  if (::faccessat(AT_FDCWD, place.c_str(), mode, AT_EACCESS) != 0) return cannot_write(path, errno);
  std::error_code unknown;
  if (!destination->is_special && !std::filesystem::is_directory(place, unknown))
    return cannot_write(path, ENOTDIR);
  return {};
}

Result<FileSink> FileSink::create(const std::filesystem::path& path,
                                  const std::string& temporary_name, bool is_named) {
  FileSink sink;
  sink.path_ = path;
  Destination destination{path, {}, false};
  if (temporary_name.empty()) {
    auto found = destination_of(path);
    if (!found) return found.error();
    destination = std::move(*found);
  }
  sink.target_ = destination.path.string();
  if (destination.is_special) {
    std::fflush(stdout);  // what was printed before comes before
    sink.is_shared_ = destination.descriptor.has_value();
    sink.descriptor_ = sink.is_shared_
                           ? ::fcntl(*destination.descriptor, F_DUPFD_CLOEXEC, 0)
                           : ::open(sink.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (sink.descriptor_ < 0) return cannot_write(path, errno);
    return sink;
  }
  std::filesystem::path directory = destination.path.parent_path();
  if (directory.empty()) directory = ".";
  if (temporary_name.empty()) sweep_temporary_files(directory);
  if (temporary_name.empty() && !is_named) sink.descriptor_ = open_nameless(directory);
  sink.is_nameless_ = sink.descriptor_ >= 0;
  if (!sink.is_nameless_) sink.open_named(directory, temporary_name);
  if (sink.descriptor_ < 0) return cannot_write(path, errno);
  return sink;
}

// A short name, so that a long output name does not make the temporary one too long. Not mkstemp:
// it makes private files, and the user's umask cannot be asked for without changing it for all.
void FileSink::open_named(const std::filesystem::path& directory,
                          const std::string& temporary_name) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  if (!temporary_name.empty()) {
    temporary_ = (directory / temporary_name).string();
    descriptor_ = ::open(temporary_.c_str(), kFlags, 0666);
    return;
  }
  for (;;) {
    temporary_ = (directory / temporary_file_name()).string();
    descriptor_ = ::open(temporary_.c_str(), kFlags, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0 || hold_temporary(descriptor_, temporary_)) return;
    ::close(std::exchange(descriptor_, -1));
  }
}

FileSink::FileSink(FileSink&& other) noexcept { *this = std::move(other); }

FileSink& FileSink::operator=(FileSink&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  temporary_ = std::move(other.temporary_);
  pending_ = std::move(other.pending_);
  position_ = other.position_;
  descriptor_ = std::exchange(other.descriptor_, -1);
  is_nameless_ = other.is_nameless_;
  is_shared_ = other.is_shared_;
  errno_ = other.errno_;
  return *this;
}

FileSink::~FileSink() { discard(); }

void FileSink::discard() noexcept {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileSink::flush() {
  if (errno_ == 0) errno_ = write_all(descriptor_, pending_.data(), pending_.size());
  pending_.clear();
}

void FileSink::write(Bytes data) {
  position_ += data.size();
  if (pending_.size() + data.size() <= kPendingBytes) {
    pending_.insert(pending_.end(), data.begin(), data.end());
    return;
  }
  flush();
  if (data.size() < kPendingBytes) {
    pending_.insert(pending_.end(), data.begin(), data.end());
  } else if (errno_ == 0) {
    errno_ = write_all(descriptor_, data.data(), data.size());
  }
}

void FileSink::write_at(uint64_t offset, Bytes data) {
  flush();
  if (is_shared_ && errno_ == 0) errno_ = ESPIPE;  // offsets are those of all who write there
  while (!data.empty() && errno_ == 0) {
    ssize_t done = ::pwrite(descriptor_, data.data(), data.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      errno_ = errno;
      return;
    }
    offset += static_cast<uint64_t>(done);
    data = data.subspan(static_cast<size_t>(done));
  }
}

Result<void> FileSink::sync() {
  flush();
  if (errno_ == 0) errno_ = sync_error(descriptor_);
  if (errno_ == 0) return {};
  return cannot_write(path_, errno_);
}

// Puts the file where it belongs; an errno. A name that is taken can only be replaced by renaming,
// so the file has a temporary one for a moment, held until then.
int FileSink::publish() {
  if (is_nameless_) {
    const std::string own = own_link(descriptor_);
    const auto link_to = [&](const std::string& name) {
      const int flags = AT_SYMLINK_FOLLOW;
      return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), flags) == 0 ? 0 : errno;
    };
    if (const int failed = link_to(target_); failed != EEXIST) return failed;
    const auto directory = std::filesystem::path(target_).parent_path();
    ::flock(descriptor_, LOCK_EX | LOCK_NB);
    int failed = EEXIST;
    while (failed == EEXIST) {
      temporary_ = (directory / temporary_file_name()).string();
      failed = link_to(temporary_);
    }
    if (failed != 0) temporary_.clear();
    if (failed != 0) return failed;
  }
  if (temporary_.empty()) return 0;  // written straight
  return ::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
}

Result<void> FileSink::commit(bool synced) {
  flush();
  if (errno_ == 0 && synced) errno_ = sync_error(descriptor_);
  // Network file systems tell of a full disk only when a file is closed; the lock goes with the
  // last descriptor, so that is not this one.
  if (const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); copy >= 0 && ::close(copy) != 0)
    errno_ = errno_ != 0 ? errno_ : errno;
  if (errno_ == 0) errno_ = publish();
  if (errno_ != 0 && !temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(std::exchange(descriptor_, -1));
  if (errno_ == 0) return {};
  return cannot_write(path_, errno_);
}

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

}  // namespace plumb
