// SPDX-License-Identifier: Apache-2.0
//
// Something odd that a file may have thousands of, for one warning: how often, and an example.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace plumb::graph {

struct Oddity {
  size_t count = 0;
  std::string first;

  void add(std::string_view example) {
    if (count++ == 0) first = example;
  }

  // "12 (the first is 'x'): what they are"; nothing if there are none.
  void tell(std::string_view what, std::vector<std::string>& warnings) const {
    if (count > 0)
      warnings.push_back(fmt::format("{} (the first is '{}'): {}", count, first, what));
  }
};

}  // namespace plumb::graph
