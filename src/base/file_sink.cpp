// SPDX-License-Identifier: Apache-2.0
#include "base/file_sink.h"

#include <atomic>
#include <cerrno>
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
  return {"cannot write the file", path.string() + ": " + std::strerror(code),
          code == ENOSPC ? "free some space or choose another directory"
                         : "check that the directory exists and is writable"};
}

}  // namespace

Result<FileSink> FileSink::create(const std::filesystem::path& path,
                                  const std::string& temporary_name) {
  FileSink sink;
  sink.path_ = path;
  // A short name, so that a long output name does not make the temporary one too long. Not mkstemp:
  // it makes private files, and the user's umask cannot be asked for without changing it for all.
  static std::atomic<unsigned> counter{0};
  do {
    const std::string name = !temporary_name.empty() ? temporary_name
                                                     : ".plumb-" + std::to_string(::getpid()) +
                                                           "-" + std::to_string(counter++);
    sink.temporary_ = (path.parent_path() / name).string();
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
  temporary_ = std::move(other.temporary_);
  pending_ = std::move(other.pending_);
  position_ = other.position_;
  descriptor_ = std::exchange(other.descriptor_, -1);
  errno_ = other.errno_;
  return *this;
}

FileSink::~FileSink() { discard(); }

void FileSink::discard() noexcept {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
  descriptor_ = -1;
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
  if (errno_ == 0 && ::fsync(descriptor_) != 0) errno_ = errno;
  if (errno_ == 0) return {};
  return cannot_write(path_, errno_);
}

Result<void> FileSink::commit(bool synced) {
  flush();
  if (errno_ == 0 && synced && ::fsync(descriptor_) != 0) errno_ = errno;
  // Network file systems tell of a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno_ == 0) errno_ = errno;
  if (errno_ == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) errno_ = errno;
  if (errno_ == 0) return {};
  ::unlink(temporary_.c_str());
  return cannot_write(path_, errno_);
}

}  // namespace plumb
