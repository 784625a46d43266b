// SPDX-License-Identifier: Apache-2.0
#include "metrics/resolution.h"

namespace plumb::metrics {

Resolution resolution_of(DType dtype) {
  switch (dtype) {
    case DType::kHiFloat8: return {0x1p-1, 0x1p-22};  // one bit of mantissa at the ends
    case DType::kFloat8E5M2: return {0x1p-2, 0x1p-14};
    case DType::kFloat8E4M3Fn: return {0x1p-3, 0x1p-6};
    case DType::kBFloat16: return {0x1p-7, 0x1p-126};
    case DType::kFloat16: return {0x1p-10, 0x1p-14};
    case DType::kFloat32: return {0x1p-23, 0x1p-126};
    case DType::kFloat64: return {0x1p-52, 0x1p-1022};
    default: return {0, 1 - 0x1p-53};
  }
}

DType coarser_of(DType a, DType b) {
  return resolution_of(b).relative > resolution_of(a).relative ? b : a;
}

}  // namespace plumb::metrics
