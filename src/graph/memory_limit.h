// SPDX-License-Identifier: Apache-2.0
//
// How much memory a model description may turn into. Two bytes of a file can mean a whole operator,
// and the name of a graph is copied into each of its operators: without a limit a small hostile
// file would fill the machine. Real descriptions stay far below it.
#pragma once

#include <cstddef>

namespace plumb::graph {

class MemoryLimit {
 public:
  static constexpr size_t kGrowth = 32;  // real files take 0.2 to 3 times their size

  explicit MemoryLimit(size_t file_bytes) : left_(kGrowth * file_bytes + (size_t{1} << 20)) {}

  // False once the limit is passed.
  bool take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  size_t left_;
};

}  // namespace plumb::graph
