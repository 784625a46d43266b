// SPDX-License-Identifier: Apache-2.0
//
// Partners that something else than names, the user's map and graphs tells: the order of calls, or
// the mapping files of another tool. They borrow the names of golden operators.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "dump/dump.h"

namespace plumb::pair {

struct Choice {
  std::string_view op;  // of golden; empty: there is none
  dump::Slot slot;
  std::string_view rule;
  std::string words;  // why this one, or why none
};
using Choices = std::unordered_map<const dump::Entry*, Choice>;  // by target tensor

}  // namespace plumb::pair
