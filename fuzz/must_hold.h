// SPDX-License-Identifier: Apache-2.0
//
// What must hold for any bytes; a fuzz target that finds otherwise stops there.
#pragma once

#include <cstdlib>

inline void must_hold(bool holds) {
  if (!holds) std::abort();
}
