// SPDX-License-Identifier: Apache-2.0
//
// Reading a mapped page beyond the end of a file that has shrunk raises SIGBUS, which would end the
// whole run for one bad file. The handler below puts a zero page there and marks the mapping as
// broken, so that the reader can turn it into an ordinary error. Other faults go to whoever handled
// them before us.
#include "base/mapped_file.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest_path.h"

namespace plumb {
namespace {

constexpr size_t kMapFromBytes = 128 * 1024;
const auto kPage = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));

struct Guard {
  std::atomic<uintptr_t> begin{0};  // 0 = free
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> broken{false};
};
std::array<Guard, 1024> guards;  // only touched by open, close and the signal handler

// What a guarded mapping is of; belongs to whoever holds the guard.
struct Identity {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
};
std::array<Identity, 1024> identities;

struct sigaction previous;  // what was there before us; written once, by sigaction

// A fault happens again when the handler returns, a signal that somebody sent does not.
bool is_fault(int code) {
  return code == BUS_ADRALN || code == BUS_ADRERR || code == BUS_OBJERR || code == BUS_MCEERR_AR;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  const bool is_ignored = previous.sa_handler == SIG_IGN;
  if (is_ignored && !is_fault(info->si_code)) return;
  if (!is_ignored && previous.sa_handler != SIG_DFL) return previous.sa_handler(signal);
  ::signal(signal, SIG_DFL);
  if (!is_fault(info->si_code)) ::raise(signal);
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Guard& guard : guards) {
    uintptr_t begin = guard.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= guard.end.load(std::memory_order_acquire))
      continue;
    void* page = reinterpret_cast<void*>(address & ~(kPage - 1));
    if (::mmap(page, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
      break;
    guard.broken.store(true, std::memory_order_release);
    return;
  }
  pass_on(signal, info, context);
}

int guard_mapping(Bytes bytes, Identity identity) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGBUS, &action, &previous);
  });
  auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  for (size_t i = 0; i < guards.size(); ++i) {
    uintptr_t free = 0;
    // Taken first with a begin that matches nothing, so that the handler never sees half an entry.
    if (!guards[i].begin.compare_exchange_strong(free, UINTPTR_MAX)) continue;
    guards[i].broken.store(false);
    identities[i] = std::move(identity);
    guards[i].end.store(begin + bytes.size());
    guards[i].begin.store(begin, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

Error cannot_read(const std::string& path, int code) {
  std::string remedy = code == ENOENT   ? did_you_mean_path(path) + "check the path"
                       : code == EACCES ? "check the file's permissions"
                                        : "check that the file is on a working disk";
  return {"cannot read the file", path + ": " + std::strerror(code), std::move(remedy)};
}

Error changed(const std::string& path, const FileVersion& then, const FileVersion& now) {
  std::string where = path;
  where += then.size_bytes == now.size_bytes
               ? ": written to after it was opened"
               : ": " + std::to_string(then.size_bytes) + " bytes when it was opened, " +
                     std::to_string(now.size_bytes) + " now";
  return {"the file changed while it was read", std::move(where),
          "wait until its writer has finished"};
}

struct OpenFile {
  int value;
  ~OpenFile() {
    if (value >= 0) ::close(value);
  }
};

FileVersion version_of(const struct stat& status) {
  const auto in_ns = [](const timespec& time) {
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  return {static_cast<uint64_t>(status.st_size), in_ns(status.st_mtim), in_ns(status.st_ctim),
          status.st_nlink};
}

// Up to `size` bytes; fewer if there are no more. An errno.
int read_all(int file, std::byte* out, size_t size, size_t& filled) {
  for (filled = 0; filled < size;) {
    const ssize_t got = ::read(file, out + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    filled += static_cast<size_t>(got);
  }
  return 0;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, bool map,
                                    void (*meanwhile)(const std::string& path)) {
  // O_NONBLOCK: a named pipe in a dump directory must not stop the run.
  OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.value < 0 || ::fstat(file.value, &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode))
    return Error{"expected a file, found a directory", path, "name a file inside it"};
  if (!S_ISREG(status.st_mode))
    return Error{"not a regular file", path, "copy its contents to a file first"};

  MappedFile mapped;
  const FileVersion version = version_of(status);
  auto size = static_cast<size_t>(status.st_size);
  if (map && size >= kMapFromBytes) {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value, 0);
    if (at == MAP_FAILED) return cannot_read(path, errno);
    mapped.bytes_ = {static_cast<const std::byte*>(at), size};
    mapped.guard_ = guard_mapping(mapped.bytes_, {path, status.st_dev, status.st_ino});
    if (mapped.guard_ < 0) {
      ::munmap(at, size);
      return Error{"too many large files open at once", path, "report this as a bug"};
    }
    mapped.descriptor_ = std::exchange(file.value, -1);
    mapped.version_ = version;
    return mapped;
  }
  mapped.heap_.reset(new (std::nothrow) std::byte[size]);
  if (!mapped.heap_) return cannot_read(path, ENOMEM);
  size_t filled = 0;
  if (const int failed = read_all(file.value, mapped.heap_.get(), size, filled); failed != 0)
    return cannot_read(path, failed);
  if (meanwhile != nullptr) meanwhile(path);
  // Not even a single read of a few bytes sees all of another process's write or none of it.
  if (::fstat(file.value, &status) != 0) return cannot_read(path, errno);
  if (const FileVersion now = version_of(status); now != version || filled != size)
    return changed(path, version, now);
  mapped.bytes_ = {mapped.heap_.get(), filled};
  return mapped;
}

MappedFile MappedFile::of_memory(Bytes bytes) {
  MappedFile mapped;
  mapped.bytes_ = bytes;
  return mapped;
}

std::optional<MappedFile::Part> MappedFile::reopen(Bytes bytes) {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  for (size_t i = 0; i < guards.size(); ++i) {
    const uintptr_t begin = guards[i].begin.load(std::memory_order_acquire);
    if (begin == 0 || begin == UINTPTR_MAX || address < begin ||
        address + bytes.size() > guards[i].end.load(std::memory_order_acquire))
      continue;
    const int file = ::open(identities[i].path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (file >= 0 && ::fstat(file, &status) == 0 && status.st_dev == identities[i].device &&
        status.st_ino == identities[i].inode)
      return Part{file, address - begin};
    if (file >= 0) ::close(file);
    return std::nullopt;
  }
  return std::nullopt;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  bytes_ = std::exchange(other.bytes_, {});
  heap_ = std::move(other.heap_);
  guard_ = std::exchange(other.guard_, -1);
  descriptor_ = std::exchange(other.descriptor_, -1);
  version_ = other.version_;
  return *this;
}

MappedFile::~MappedFile() { close(); }

void MappedFile::close() noexcept {
  if (guard_ < 0) return;
  auto& guard = guards[static_cast<size_t>(guard_)];
  guard.begin.store(UINTPTR_MAX);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  guard.begin.store(0, std::memory_order_release);
  guard_ = -1;
  ::close(std::exchange(descriptor_, -1));
}

void MappedFile::prepare(Bytes part) const { advise(part, MADV_POPULATE_READ); }
void MappedFile::release(Bytes part) const { advise(part, MADV_DONTNEED); }

void MappedFile::count_small_read(size_t size) const {
  constexpr size_t kMost = 8 << 20;
  if (bytes_.size() <= kMost) return;  // all of it may stay
  if (read_in_parts_.fetch_add(size, std::memory_order_relaxed) + size < kMost) return;
  read_in_parts_.store(0, std::memory_order_relaxed);
  release(bytes_);
}

// For whole pages. A kernel that does not know the advice does without: then pages come by faults.
void MappedFile::advise(Bytes part, int advice) const {
  // Readers unpack some tensors into memory of their own; dropping those pages would lose them.
  const bool inside =
      part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size();
  if (guard_ < 0 || part.empty() || !inside) return;
  const auto begin = reinterpret_cast<uintptr_t>(part.data()) & ~(kPage - 1);
  const auto end =
      (reinterpret_cast<uintptr_t>(part.data()) + part.size() + kPage - 1) & ~(kPage - 1);
  ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

bool MappedFile::intact() const {
  return guard_ < 0 || !guards[static_cast<size_t>(guard_)].broken.load(std::memory_order_acquire);
}

Result<void> MappedFile::check(const std::string& path) const {
  if (guard_ < 0) return {};  // looked at when it was read
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) return cannot_read(path, errno);
  const FileVersion now = version_of(status);
  if (now != version_) return changed(path, version_, now);
  if (!intact()) return cannot_read(path, EIO);  // the size is what it was: the device failed
  return {};
}

}  // namespace plumb
