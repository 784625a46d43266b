// SPDX-License-Identifier: Apache-2.0
//
// Names that nobody has yet. Edges and dumps go by names, which model descriptions let repeat.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace plumb::graph {

class UniqueNames {
 public:
  // Somebody has this name.
  void add(std::string_view name) { used_.try_emplace(std::string(name), 1); }
  bool contains(std::string_view name) const { return used_.contains(std::string(name)); }

  // `name` itself, or `otherwise` if somebody has it, or else `name` with the first free number
  // from 2 on. Nobody gets it again.
  std::string claim(std::string name, std::string_view otherwise = {}) {
    if (used_.try_emplace(name, 1).second) return name;
    if (!otherwise.empty() && used_.try_emplace(std::string(otherwise), 1).second)
      return std::string(otherwise);
    for (int& copy = used_[name];;)
      if (std::string numbered = name + "_" + std::to_string(++copy);
          used_.try_emplace(numbered, 1).second)
        return numbered;
  }

 private:
  std::unordered_map<std::string, int> used_;  // with how many there are of it
};

}  // namespace plumb::graph
