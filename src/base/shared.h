// SPDX-License-Identifier: Apache-2.0
//
// A value that several owners share, in the room of one pointer (std::shared_ptr takes two). Of
// many thousand objects each may have one: most of them are the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace plumb {

template <class T>
class Shared {
 public:
  Shared() = default;
  template <class... Arguments>
  static Shared make(Arguments&&... arguments) {
    Shared made;
    made.block_ = new Block{{1}, T(std::forward<Arguments>(arguments)...)};
    return made;
  }
  Shared(const Shared& other) : block_(other.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Shared() {
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete block_;
  }

  T* get() const { return block_ != nullptr ? &block_->value : nullptr; }
  explicit operator bool() const { return block_ != nullptr; }
  T& operator*() const { return block_->value; }
  T* operator->() const { return &block_->value; }

 private:
  struct Block {
    std::atomic<uint64_t> owners;
    T value;
  };
  Block* block_ = nullptr;
};

}  // namespace plumb
