// SPDX-License-Identifier: Apache-2.0
//
// Which axis of a picture holds its colours.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/shape.h"

namespace plumb::diagnose {

inline constexpr int64_t kMostColours = 4;

// The axis of length 3 or 4 that is shorter than all others but the batch: CHW, HWC, and with
// batches (and frames) before them. nullopt: no picture.
std::optional<size_t> colour_axis(const Shape& shape);

}  // namespace plumb::diagnose
