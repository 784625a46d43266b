// SPDX-License-Identifier: Apache-2.0
//
// What is computed from element types. The table in dtype.cpp is the only place that knows their
// names and sizes.
#pragma once

#include "base/checked.h"
#include "plumb/tensor.h"

namespace plumb {

// Bytes that `count` packed elements take; nullopt if that overflows.
inline std::optional<int64_t> byte_count(DType dtype, int64_t count) {
  auto bits = checked_mul(count, bits_of(dtype));
  if (!bits) return std::nullopt;
  return ceil_div(*bits, 8);
}

}  // namespace plumb
