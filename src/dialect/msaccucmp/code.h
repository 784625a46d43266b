// SPDX-License-Identifier: Apache-2.0
//
// The error numbers of msaccucmp, which scripts read as its exit status, and how they travel: a
// Fault is an error with its number, an Outcome<T> either a value or a Fault.
#pragma once

#include <utility>
#include <variant>

#include "plumb/result.h"

namespace plumb::msaccucmp {

enum class Code : int {
  kNone = 0,
  kUnknown = 1,
  kNoDumpFile = 2,
  kUsage = 2,  // argparse says so, too
  kInvalidPath = 3,
  kInvalidParameter = 6,
  kInvalidDumpData = 11,
  kOutOfBounds = 12,
  kRuleJson = 13,
  kDumpType = 18,
  kWriteFile = 19,
  kScenario = 20,
  kDataType = 21,
  kFormat = 22,
  kShape = 23,
  kFileType = 24,
  kRuleContent = 29,
  kNotComparable = 30,
  kNoAlgorithm = 31,
  kNzShape = 34,
  kOverflowType = 35,
  kOverflowStatus = 36,
  kTaskType = 37,
  kInterrupted = 130,  // not one of its numbers: by Ctrl-C
};

struct Fault {
  Code code = Code::kUnknown;
  Error error;
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}
  Outcome(Fault fault) : state_(std::move(fault)) {}
  Outcome(Code code, Error error) : state_(Fault{code, std::move(error)}) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  Fault& fault() { return *std::get_if<1>(&state_); }
  const Fault& fault() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Fault> state_;
};

}  // namespace plumb::msaccucmp
