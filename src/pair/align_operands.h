// SPDX-License-Identifier: Apache-2.0
//
// Which operands of two operators belong together if only their sizes tell.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace plumb::pair {

// Numbers of elements of two operand lists, or one of these.
inline constexpr int64_t kUnknownCount = -1;  // may be any
inline constexpr int64_t kNoTensor = -2;      // belongs to none
// Index pairs in order: position by position if all counts agree, else as many equal counts as
// possible in the order of both lists, the shifts between them as small as possible, and what is
// then left on both sides at one position.
std::vector<std::pair<size_t, size_t>> align_operands(std::span<const int64_t> target,
                                                      std::span<const int64_t> golden);

}  // namespace plumb::pair
