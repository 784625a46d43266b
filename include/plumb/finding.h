// SPDX-License-Identifier: Apache-2.0
//
// What explains a run: causes with the numbers that prove them, and what to do next. diagnose/
// finds them, every report tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::result {

// A sentence, and the number of the result that it is about, if it is about one.
struct Evidence {
  std::string text;            // "37 outputs are inf, all inputs are finite"
  std::optional<int64_t> row;  // its place among the rows
  std::string metric;          // of that row; empty: the number is none of the row's own
  std::optional<double> value;
};

struct Finding {
  std::string rule;           // see diagnose/rules.cpp
  std::string cause;          // "overflow", "fusion", ...: a word of docs/diagnosis.md
  std::string operator_name;  // of the target; empty: no operator is to blame
  std::string detail;         // for programs: "axes:0,2,3,1"; empty if there is nothing to add
  double confidence = 0;      // 0..1
  std::vector<Evidence> evidence;
  std::string advice;  // what to do, in words
  std::string next;    // the command to run next; empty if there is none
  // Operators whose error is inherited from this one, in order of execution.
  std::vector<std::string> consequences;
};

// The error of an operator's output, split into what its inputs brought and its own; relative
// Euclidean distances.
struct OwnError {
  double value = 0;
  double inherited = 0;
  bool measured = false;  // by replaying the operator; else estimated from the dumps
  bool operator==(const OwnError&) const = default;
};

}  // namespace plumb::result
#pragma GCC visibility pop
