// SPDX-License-Identifier: Apache-2.0
//
// Messages between the program and a worker process, over a socket: a kind, some bytes, and a few
// open files. What is large travels as memory that both map. Either end treats the other as
// hostile: no size is believed before it is checked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

// Of an open file; closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor();

  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }
  void reset() { *this = Descriptor(); }

 private:
  int value_ = -1;
};

inline constexpr size_t kMostFiles = 2;             // in a message
inline constexpr uint64_t kMostBody = 64ull << 20;  // bytes

// Memory that is kept by whoever uses it.
struct OwnedBytes {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

struct Message {
  uint32_t kind = 0;
  OwnedBytes body;  // at an address that suits any element
  std::vector<Descriptor> files;
};

// Called when the socket is not ready for `events` of poll(2): waits until it is. False: give up.
using Patience = std::function<bool(int socket, short events)>;
bool wait_for_ever(int socket, short events);

// False if the other end is gone, gave no sense, or patience ended.
bool send_message(int socket, uint32_t kind, Bytes body, std::span<const int> files,
                  const Patience& patience);
bool receive_message(int socket, Message& message, const Patience& patience);

uint64_t bytes_of_file(int file);  // 0 if it is no ordinary one

// A file as another process finds it: `size` bytes from `offset`.
struct SharedBytes {
  Descriptor file;
  uint64_t offset = 0, size = 0;
};
// Of a mapped file it is the file, of any other memory a copy.
Result<SharedBytes> share(Bytes bytes);
// What the other end shared. A file may shrink while it is read, as any other.
Result<OwnedBytes> map_shared(int file, uint64_t offset, uint64_t size);

// Memory for another process: made, written, and sealed, after which nobody can change it any more.
Result<Descriptor> new_memory();
Result<void> write_at(int memory, Bytes bytes, uint64_t offset);
Result<void> seal(int memory, uint64_t size);
// Refuses what could still change or shrink.
Result<OwnedBytes> map_sealed(int file, uint64_t size);

// Memory for what another process has to tell again and again. Nobody can make it smaller, but the
// other process may write at any time: no size and no index may come from there.
struct Room {
  Descriptor file;
  OwnedBytes memory;  // as it is read here
};
Result<std::shared_ptr<const Room>> new_room(uint64_t size);

// Fields of a message, one after the other. ByteReader reads them.
class FieldWriter {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number(uint32_t(text.size()));
    bytes_ += text;
  }
  void raw(std::string_view bytes) { bytes_ += bytes; }
  void pad_to(size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }
  Bytes bytes() const { return as_bytes(bytes_); }

 private:
  std::string bytes_;
};

std::string read_text(ByteReader& fields);
void write_error(FieldWriter& fields, const Error& error);
Error read_error(ByteReader& fields);

}  // namespace plumb
