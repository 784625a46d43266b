// SPDX-License-Identifier: Apache-2.0
//
// Names of operators that GE made, taken apart into names of the graph: "Mul_4Sigmoid_5" was Mul_4
// and Sigmoid_5.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

namespace plumb::pair {

// How the name of an operator that GE made comes from names of the graph.
struct Members {
  std::vector<std::string_view> names;  // in order; empty if it does not
  bool is_prefix = false;               // the one name, and something GE added behind it
};
class MemberNames {
 public:
  void add(std::string_view name);  // borrowed
  bool contains(std::string_view name) const { return names_.contains(name); }
  Members split(std::string_view name) const;

 private:
  std::unordered_set<std::string_view> names_;
  std::vector<size_t> lengths_;  // that occur, longest first
};

}  // namespace plumb::pair
