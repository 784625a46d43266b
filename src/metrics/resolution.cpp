// SPDX-License-Identifier: Apache-2.0
#include "metrics/resolution.h"

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

struct Values {
  int64_t finite, zeros;
  double min, max;
  bool fits_half, fits_bfloat16;
  bool is_constant() const { return min == max; }
};

DType shown(DType dtype, const Values& own, const Values& other) {
  dtype = part_of(dtype);
  const int64_t others = own.finite - own.zeros;
  const bool hardly_any = others == 0 || (others < 8 && 2 * others < own.finite);
  if (hardly_any || (own.is_constant() && !other.is_constant())) return dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return dtype;
  if (own.fits_bfloat16) return DType::kBFloat16;  // nearly all of its values are float16 ones, too
  return own.fits_half ? DType::kFloat16 : dtype;
}

Values target_values(const PairSums& s) {
  return {s.finite, s.t_zeros, s.t_min, s.t_max, s.t_fits_half, s.t_fits_bfloat16};
}
Values golden_values(const PairSums& s) {
  return {s.finite, s.g_zeros, s.g_min, s.g_max, s.g_fits_half, s.g_fits_bfloat16};
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

double only_whole_from(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return 0x1p7;
    case DType::kFloat16: return 0x1p10;
    case DType::kFloat64: return 0x1p52;
    case DType::kFloat32: return 0x1p23;
    default: return 0;
  }
}

DType shown_target_dtype(DType dtype, const PairSums& s) {
  return shown(dtype, target_values(s), golden_values(s));
}

DType shown_golden_dtype(DType dtype, const PairSums& s) {
  return shown(dtype, golden_values(s), target_values(s));
}

DType coarser_of(DType a, DType b) {
  return resolution_of(b).relative > resolution_of(a).relative ? b : a;
}

}  // namespace plumb::metrics
