// SPDX-License-Identifier: Apache-2.0
//
// An optional that takes the room of a pointer while it is empty, for large members that most of
// many thousand objects do without. It copies its value, like std::optional.
#pragma once

#include <memory>
#include <utility>

namespace plumb {

template <class T>
class BoxedOptional {
 public:
  BoxedOptional() = default;
  BoxedOptional(T value) : value_(std::make_unique<T>(std::move(value))) {}
  BoxedOptional(const BoxedOptional& other)
      : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  BoxedOptional(BoxedOptional&&) noexcept = default;
  BoxedOptional& operator=(const BoxedOptional& other) { return *this = BoxedOptional(other); }
  BoxedOptional& operator=(BoxedOptional&&) noexcept = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  template <class... Arguments>
  T& emplace(Arguments&&... arguments) {
    value_ = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace plumb
