// SPDX-License-Identifier: Apache-2.0
//
// How failures that input can cause travel: an Error says what is wrong, where, and what to try,
// and a Result<T> is either a value or such an error. The library never throws, prints or exits for
// them.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  Error& error() {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
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
