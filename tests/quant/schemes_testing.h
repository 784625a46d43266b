// SPDX-License-Identifier: Apache-2.0
//
// The schemes that most tests of quantization try: unsigned ones with a zero point, symmetric
// signed ones.
#pragma once

#include "quant/affine.h"

namespace plumb::quant {

inline constexpr Scheme kU8{DType::kUint8}, kS8{DType::kInt8, true, true}, kU16{DType::kUint16},
    kS16{DType::kInt16, true, true}, kS4{DType::kInt4, true, true};

}  // namespace plumb::quant
