// SPDX-License-Identifier: Apache-2.0
//
// Where the words of another tool's command go, in the order they are said. Nothing in this folder
// prints: the program passes functions that do, a test some that collect.
#pragma once

#include <functional>
#include <string_view>

#include "plumb/result.h"

namespace plumb::dialect {

struct Console {
  std::function<void(std::string_view text)> print;  // results, with their line ends
  std::function<void(std::string_view text)> warn;
  std::function<void(const Error& error)> complain;  // of what does not end the command
};

}  // namespace plumb::dialect
