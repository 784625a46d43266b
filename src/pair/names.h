// SPDX-License-Identifier: Apache-2.0
//
// Operator names as dump tools write them, and finding an operator by such a name.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace plumb::pair {

// A name as dump tools write it: '/', '.' and ':' as '_'.
std::string normalised(std::string_view name);

// Names to look up: exactly, else the only one that is written the same. What is looked up must
// stay alive.
class Names {
 public:
  void add(std::string_view name);
  // Empty if there is none; `several` tells whether that is because more than one would do.
  struct Found {
    std::string_view name;
    bool exact = false;
    bool several = false;
  };
  Found find(std::string_view name) const;

 private:
  std::unordered_set<std::string_view> exact_;
  std::unordered_map<std::string, std::string_view> written_;  // empty name: several
};

}  // namespace plumb::pair
