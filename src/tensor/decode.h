// SPDX-License-Identifier: Apache-2.0
//
// Exact decoding of elements to float or double. The vectorised versions (Highway, chosen at run
// time) give the same bits as the scalar reference beside them; the tests hold them together.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace plumb {

// Single elements, by definition of the format.
float float_from_half(uint16_t bits);
float float_from_bfloat16(uint16_t bits);
float float_from_e4m3fn(uint8_t code);
float float_from_e5m2(uint8_t code);
float float_from_hifloat8(uint8_t code);

// True if every value of the type is a float exactly (so not int32, int64, float64, complex).
bool fits_float(DType dtype);

// `count` elements of little-endian `data`, one element per whole byte(s) (see
// DTypeInfo::unpacked), of any real type. What the result cannot hold is rounded to the nearest:
// see fits_float; of doubles only 64-bit integers. NaN payloads are kept.
void decode_float(DType dtype, const std::byte* data, int64_t count, float* out);
void decode_double(DType dtype, const std::byte* data, int64_t count, double* out);
void decode_float_scalar(DType dtype, const std::byte* data, int64_t count, float* out);

// int4 and uint1 to one byte each, starting `first` elements into `data`.
void unpack(DType dtype, const std::byte* data, int64_t first, int64_t count, std::byte* out);

// Reverses the bytes of each element in place (each half of a complex one).
void swap_bytes(DType dtype, std::byte* data, int64_t count);

}  // namespace plumb
