// SPDX-License-Identifier: Apache-2.0
//
// The shortest digits that read back to the same double, as fmt's "{}" prints them: results have
// millions of numbers, and placing the digits costs fmt more than finding them.
#pragma once

#include <cstddef>

namespace plumb {

inline constexpr size_t kShortestRoom = 48;  // characters that may be written to, used or not

// Writes a finite number and returns the end of it.
char* write_shortest(char* out, double number);

}  // namespace plumb
