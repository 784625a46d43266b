// SPDX-License-Identifier: Apache-2.0
//
// Which part of a dump is wanted, and what the user knows about files that do not say it
// themselves. Plain data that a command's options or a caller of the library fills in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb {

// Of each list: empty = all.
struct Selection {
  std::vector<std::string> ops;    // patterns, see base/name_pattern.h
  std::vector<std::string> slots;  // "output:0", "input"
  std::vector<int64_t> steps, ranks;
};

// Read hints in the user's words; empty = not given.
struct HintWords {
  std::string dtype;  // of headerless files, e.g. "float16"
  std::string shape;  // of headerless files, e.g. "1,3,224,224"
  std::string fp8;    // what npy's one-byte void type is
};

}  // namespace plumb
#pragma GCC visibility pop
