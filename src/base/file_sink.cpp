// SPDX-License-Identifier: Apache-2.0
#include "base/file_sink.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb {
namespace {

constexpr size_t kPendingBytes = 256 * 1024;

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
  int number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size() || number < 0) return {};
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
                                  const std::string& temporary_name) {
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
  // A short name, so that a long output name does not make the temporary one too long. Not mkstemp:
  // it makes private files, and the user's umask cannot be asked for without changing it for all.
  static std::atomic<unsigned> counter{0};
  do {
    const std::string name = !temporary_name.empty() ? temporary_name
                                                     : ".plumb-" + std::to_string(::getpid()) +
                                                           "-" + std::to_string(counter++);
    sink.temporary_ = (destination.path.parent_path() / name).string();
    sink.descriptor_ = ::open(sink.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (sink.descriptor_ < 0 && errno == EEXIST && temporary_name.empty());
  if (sink.descriptor_ < 0) return cannot_write(path, errno);
  return sink;
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

Result<void> FileSink::commit(bool synced) {
  flush();
  if (errno_ == 0 && synced) errno_ = sync_error(descriptor_);
  // Network file systems tell of a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno_ == 0) errno_ = errno;
  const bool is_renamed = !temporary_.empty();
  if (errno_ == 0 && is_renamed && ::rename(temporary_.c_str(), target_.c_str()) != 0)
    errno_ = errno;
  if (errno_ == 0) return {};
  if (is_renamed) ::unlink(temporary_.c_str());
  return cannot_write(path_, errno_);
}

Result<void> write_file(const std::filesystem::path& path, std::string_view text) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.error();
  sink->write(text);
  return sink->commit();
}

}  // namespace plumb
