// SPDX-License-Identifier: Apache-2.0
#include "metrics/resolution.h"

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

DType shown(DType dtype, int64_t finite, int64_t zeros, bool fits_half, bool fits_bfloat16) {
  dtype = part_of(dtype);
  const int64_t others = finite - zeros;
  if (others < 8 && 2 * others < finite) return dtype;
  if (others == 0 || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) return dtype;
  if (fits_bfloat16) return DType::kBFloat16;  // nearly all of its values are float16 ones, too
  return fits_half ? DType::kFloat16 : dtype;
}

}  // namespace

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

DType shown_target_dtype(DType dtype, const PairSums& s) {
  return shown(dtype, s.finite, s.t_zeros, s.t_fits_half, s.t_fits_bfloat16);
}

DType shown_golden_dtype(DType dtype, const PairSums& s) {
  return shown(dtype, s.finite, s.g_zeros, s.g_fits_half, s.g_fits_bfloat16);
}

DType coarser_of(DType a, DType b) {
  return resolution_of(b).relative > resolution_of(a).relative ? b : a;
}

}  // namespace plumb::metrics
