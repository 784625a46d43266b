// SPDX-License-Identifier: Apache-2.0
//
// How failures that input can cause travel: an Error says what is wrong, where, and what to try,
// and a Result<T> is either a value or such an error. The library never throws, prints or exits for
// them.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb {

struct Error {
  std::string what;   // one clause, lower case, no full stop
  std::string where;  // file, byte or line, operator; with the numbers that prove it
  std::string remedy;

  // The same error seen from one level further out: `in("a.npy")` turns "byte 8" into "a.npy, byte
  // 8".
  Error in(std::string_view outer) && {
    where = where.empty() ? std::string(outer) : std::string(outer) + ", " + where;
    return std::move(*this);
  }
};

// A value or an error in one place. By hand, because most functions return one: std::variant took a
// sixth of all that the compiler had to write.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true) { std::construct_at(&value_, std::move(value)); }
  Result(Error error) : ok_(false) { std::construct_at(&error_, std::move(error)); }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, std::move(other.value_));
    } else {
      std::construct_at(&error_, std::move(other.error_));
    }
  }
  Result(const Result& other) requires std::is_copy_constructible_v<T> : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(&value_, other.value_);
    } else {
      std::construct_at(&error_, other.error_);
    }
  }
  Result& operator=(Result other) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
    return *this;
  }
  ~Result() {
    if (ok_) {
      std::destroy_at(&value_);
    } else {
      std::destroy_at(&error_);
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    assert(ok_);
    return value_;
  }
  const T& value() const {
    assert(ok_);
    return value_;
  }
  Error& error() {
    assert(!ok_);
    return error_;
  }
  const Error& error() const {
    assert(!ok_);
    return error_;
  }

 private:
  union {
    T value_;
    Error error_;
  };
  bool ok_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace plumb
#pragma GCC visibility pop
