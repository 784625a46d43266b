// SPDX-License-Identifier: Apache-2.0
//
// Reading a mapped page beyond the end of a file that has shrunk raises SIGBUS, which would end the
// whole run for one bad file. The handler below puts a zero page there and marks the mapping as
// broken, so that the reader can turn it into an ordinary error.
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

void on_bus_error(int signal, siginfo_t* info, void*) {
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
  ::signal(signal, SIG_DFL);  // not ours: fault again, without us
}

int guard_mapping(Bytes bytes, Identity identity) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
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
  std::string remedy = code == ENOENT   ? "check the path"
                       : code == EACCES ? "check the file's permissions"
                                        : "check that the file is on a working disk";
  return {"cannot read the file", path + ": " + std::strerror(code), std::move(remedy)};
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a named pipe in a dump directory must not stop the run.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status;
  if (file.value < 0 || ::fstat(file.value, &status) != 0) return cannot_read(path, errno);
  if (S_ISDIR(status.st_mode))
    return Error{"expected a file, found a directory", path, "name a file inside it"};
  if (!S_ISREG(status.st_mode))
    return Error{"not a regular file", path, "copy its contents to a file first"};

  MappedFile mapped;
  auto size = static_cast<size_t>(status.st_size);
  if (size >= kMapFromBytes) {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value, 0);
    if (at == MAP_FAILED) return cannot_read(path, errno);
    mapped.bytes_ = {static_cast<const std::byte*>(at), size};
    mapped.guard_ = guard_mapping(mapped.bytes_, {path, status.st_dev, status.st_ino});
    if (mapped.guard_ < 0) {
      ::munmap(at, size);
      return Error{"too many large files open at once", path, "report this as a bug"};
    }
    return mapped;
  }
  mapped.heap_ = std::make_unique_for_overwrite<std::byte[]>(size);
  size_t filled = 0;
  while (filled < size) {
    ssize_t got = ::read(file.value, mapped.heap_.get() + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) break;  // it shrank meanwhile; the parser will say what is missing
    filled += static_cast<size_t>(got);
  }
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
}

void MappedFile::prepare(Bytes part) const { advise(part, MADV_POPULATE_READ); }
void MappedFile::release(Bytes part) const { advise(part, MADV_DONTNEED); }

void MappedFile::count_small_read(size_t size) const {
  constexpr size_t kMost = 4 << 20;
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

}  // namespace plumb
