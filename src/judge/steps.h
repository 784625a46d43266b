// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that may be rounded the other way: pixels, and codes of a quantized tensor. All of
// them in one direction are not rounded, see compare/common_offset.h.
#pragma once

#include "metrics/accumulator.h"

namespace plumb::judge {

enum class Steps : uint8_t { kNone, kOfPixels, kOfCodes };
Steps steps_of(const metrics::PairFacts& facts);

// Types of ids rather than of codes: integers of 32 bits and more on both sides, or bool.
bool are_exact(DType target, DType golden);

}  // namespace plumb::judge
