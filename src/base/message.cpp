// SPDX-License-Identifier: Apache-2.0
#include "base/message.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mapped_file.h"

namespace plumb {
namespace {

constexpr uint32_t kMagic = 0x31424c50;  // "PLB1"
constexpr std::align_val_t kAlignment{64};

struct Frame {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t body_bytes = 0;
};

// Room for the files of a message; the kernel closes what does not fit.
union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(kMostFiles * sizeof(int))];
};

OwnedBytes make_room(size_t size) {
  auto* at = static_cast<std::byte*>(::operator new(std::max<size_t>(size, 1), kAlignment));
  std::shared_ptr<void> owner(at, [](void* p) { ::operator delete(p, kAlignment); });
  return {Bytes(at, size), std::move(owner)};
}

// One system call's worth, at most; 0: the other end is gone, or we are out of patience.
size_t receive_some(int socket, void* to, size_t size, std::vector<Descriptor>* files,
                    const Patience& patience) {
  while (true) {
    iovec part{to, size};
    Control control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (files != nullptr) {
      header.msg_control = control.bytes;
      header.msg_controllen = sizeof control.bytes;
    }
    const ssize_t got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!patience(socket, POLLIN)) return 0;
      continue;
    }
    if (got <= 0) return 0;
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); files != nullptr && item != nullptr;
         item = CMSG_NXTHDR(&header, item)) {
      if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i)
        files->emplace_back(load_le<int>(CMSG_DATA(item) + i * sizeof(int)));
    }
    return static_cast<size_t>(got);
  }
}

bool receive_all(int socket, std::byte* to, size_t size, std::vector<Descriptor>* files,
                 const Patience& patience) {
  while (size > 0) {
    const size_t got = receive_some(socket, to, size, files, patience);
    if (got == 0) return false;
    to += got;
    size -= got;
  }
  return true;
}

// Sends all parts; `files` go with the first byte.
bool send_all(int socket, std::span<iovec> parts, std::span<const int> files,
              const Patience& patience) {
  while (!parts.empty()) {
    Control control{};
    msghdr header{};
    header.msg_iov = parts.data();
    header.msg_iovlen = parts.size();
    if (!files.empty()) {
      header.msg_control = control.bytes;
      header.msg_controllen = CMSG_SPACE(files.size_bytes());
      cmsghdr* item = CMSG_FIRSTHDR(&header);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(files.size_bytes());
      std::memcpy(CMSG_DATA(item), files.data(), files.size_bytes());
    }
    const ssize_t done = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!patience(socket, POLLOUT)) return false;
      continue;
    }
    if (done <= 0) return false;
    files = {};
    for (auto left = static_cast<size_t>(done); left > 0;) {
      const size_t here = std::min(left, parts.front().iov_len);
      parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + here;
      parts.front().iov_len -= here;
      left -= here;
      if (parts.front().iov_len == 0) parts = parts.subspan(1);
    }
    while (!parts.empty() && parts.front().iov_len == 0) parts = parts.subspan(1);
  }
  return true;
}

Error no_memory(const char* call) {
  return {"no memory to hand to another process", std::string(call) + ": " + std::strerror(errno),
          "close some programs, or raise the limits shown by `ulimit -a`"};
}

Result<OwnedBytes> map_file(int file, uint64_t size) {
  if (size == 0) return OwnedBytes{};
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return no_memory("mmap");
  return OwnedBytes{Bytes(static_cast<const std::byte*>(at), size),
                    std::shared_ptr<void>(at, [size](void* p) { ::munmap(p, size); })};
}

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

bool wait_for_ever(int socket, short events) {
  pollfd wait{socket, events, 0};
  return ::poll(&wait, 1, -1) > 0 || errno == EINTR;
}

bool send_message(int socket, uint32_t kind, Bytes body, std::span<const int> files,
                  const Patience& patience) {
  if (body.size() > kMostBody || files.size() > kMostFiles) return false;
  Frame frame;
  frame.kind = kind;
  frame.body_bytes = body.size();
  iovec parts[] = {{&frame, sizeof frame}, {const_cast<std::byte*>(body.data()), body.size()}};
  return send_all(socket, parts, files, patience);
}

bool receive_message(int socket, Message& message, const Patience& patience) {
  message = {};
  Frame frame;
  if (!receive_all(socket, reinterpret_cast<std::byte*>(&frame), sizeof frame, &message.files,
                   patience))
    return false;
  if (frame.magic != kMagic || frame.body_bytes > kMostBody || message.files.size() > kMostFiles)
    return false;
  message.kind = frame.kind;
  message.body = make_room(static_cast<size_t>(frame.body_bytes));
  return receive_all(socket, const_cast<std::byte*>(message.body.bytes.data()),
                     message.body.bytes.size(), nullptr, patience);
}

uint64_t bytes_of_file(int file) {
  struct stat status;
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode)
             ? static_cast<uint64_t>(status.st_size)
             : 0;
}

Result<SharedBytes> share(Bytes bytes) {
  if (auto file = MappedFile::reopen(bytes))
    return SharedBytes{Descriptor(file->descriptor), file->offset, bytes.size()};
  auto memory = new_memory();
  if (!memory) return memory.error();
  if (auto written = write_at(memory->get(), bytes, 0); !written) return written.error();
  if (auto sealed = seal(memory->get(), bytes.size()); !sealed) return sealed.error();
  return SharedBytes{std::move(*memory), 0, bytes.size()};
}

Result<OwnedBytes> map_shared(int file, uint64_t offset, uint64_t size) {
  const uint64_t there = bytes_of_file(file);
  if (offset > there || size > there - offset)
    return Error{"the file shrank while it was being read", "", "wait until its writer is done"};
  auto mapped = map_file(file, offset + size);
  if (!mapped) return mapped;
  mapped->bytes = mapped->bytes.subspan(static_cast<size_t>(offset));
  return mapped;
}

Result<Descriptor> new_memory() {
  Descriptor memory(::memfd_create("plumb", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return no_memory("memfd_create");
  return memory;
}

Result<void> write_at(int file, Bytes bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return no_memory("write");
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

Result<void> seal(int memory, uint64_t size) {
  constexpr int kAll = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (::ftruncate(memory, static_cast<off_t>(size)) != 0) return no_memory("ftruncate");
  if (::fcntl(memory, F_ADD_SEALS, kAll) != 0) return no_memory("fcntl");
  return {};
}

Result<OwnedBytes> map_sealed(int file, uint64_t size) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_WRITE;
  const int seals = ::fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded || bytes_of_file(file) != size)
    return Error{"the other process handed over memory that makes no sense", "", "try again"};
  return map_file(file, size);
}

Result<std::shared_ptr<const Room>> new_room(uint64_t size) {
  auto file = new_memory();
  if (!file) return file.error();
  if (::ftruncate(file->get(), static_cast<off_t>(size)) != 0) return no_memory("ftruncate");
  if (::fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_memory("fcntl");
  auto memory = map_file(file->get(), size);
  if (!memory) return memory.error();
  return std::make_shared<const Room>(Room{std::move(*file), std::move(*memory)});
}

std::string read_text(ByteReader& fields) {
  return std::string(as_text(fields.take(fields.u32())));
}

void write_error(FieldWriter& fields, const Error& error) {
  for (const std::string* text : {&error.what, &error.where, &error.remedy}) fields.text(*text);
}

Error read_error(ByteReader& fields) {
  Error error;
  for (std::string* text : {&error.what, &error.where, &error.remedy}) *text = read_text(fields);
  return error;
}

}  // namespace plumb
