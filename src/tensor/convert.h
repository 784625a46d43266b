// SPDX-License-Identifier: Apache-2.0
//
// Elements from one type to another. A long double holds every value of every type exactly: whether
// a value survives is seen by going there and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace plumb {

// True for real numbers that are not packed, to all but the 8-bit floats.
bool can_convert(DType from, DType to);

// A value that another type does not have.
struct Misfit {
  int64_t element = 0;
  double value = 0;
  std::optional<double> nearest;  // nullopt: it is out of range
};

// Writes all `elements` to `out`, which is as large as they get; can_convert(from, to) is true.
// With `rounds` values become the nearest that there is, and only what is out of an integer's range
// is a misfit (floats become infinite). The first misfit ends it. Other numbers than 0 and 1 are no
// bool, but any bool that is not 0 is 1.
std::optional<Misfit> convert(DType from, Bytes elements, DType to, bool rounds,
                              std::span<std::byte> out);

}  // namespace plumb
