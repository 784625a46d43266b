// SPDX-License-Identifier: Apache-2.0
//
// Rounding to the 16-bit floats, to nearest, ties to even. NaN stays NaN (quiet), values beyond the
// largest finite number become infinite, as the hardware does it.
#pragma once

#include <cstdint>

namespace plumb {

uint16_t half_from_float(float value);
uint16_t bfloat16_from_float(float value);

}  // namespace plumb
