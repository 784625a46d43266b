// SPDX-License-Identifier: Apache-2.0
//
// Borrowed bytes and a bounds-checked little-endian reader over them. The reader remembers its
// first failure instead of reporting each one, so that a parser reads in the order of the bytes and
// asks once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

static_assert(std::endian::native == std::endian::little,
              "decoders copy little-endian bytes as is");

inline std::string_view as_text(Bytes b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}
inline Bytes as_bytes(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

// Reads a T at `at`, which the caller has checked to be inside.
template <class T>
T load_le(const void* at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Growable memory that keeps its capacity between uses and does not clear it. One per worker.
class Buffer {
 public:
  // At least `size` bytes, 64-byte aligned; earlier contents are lost when it grows.
  std::byte* reserve(size_t size) {
    if (size > capacity_) {
      data_.reset();
      data_.reset(static_cast<std::byte*>(::operator new (size, std::align_val_t{64})));
      capacity_ = size;
    }
    return data_.get();
  }
  size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t capacity_ = 0;
};

class ByteReader {
 public:
  explicit ByteReader(Bytes data) : data_(data) {}

  size_t position() const { return position_; }
  size_t left() const { return data_.size() - position_; }
  bool ok() const { return !failed_; }
  bool at_end() const { return position_ == data_.size(); }

  template <class T>
  T read() {
    if (failed_ || left() < sizeof(T)) return fail<T>();
    T value = load_le<T>(data_.data() + position_);
    position_ += sizeof(T);
    return value;
  }
  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }
  int32_t i32() { return read<int32_t>(); }
  int64_t i64() { return read<int64_t>(); }

  // The next `size` bytes, or nothing (and failure) if fewer are left.
  Bytes take(uint64_t size) {
    if (failed_ || size > left()) return fail<Bytes>();
    Bytes taken = data_.subspan(position_, static_cast<size_t>(size));
    position_ += static_cast<size_t>(size);
    return taken;
  }
  void skip(uint64_t size) { take(size); }

 private:
  template <class T>
  T fail() {
    failed_ = true;
    return T{};
  }

  Bytes data_;
  size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace plumb
