// SPDX-License-Identifier: Apache-2.0
//
// Numbers of things in messages: "1 file", "2 files".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

inline std::string counted(size_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace plumb
