// SPDX-License-Identifier: Apache-2.0
//
// Tensor shapes. Dimensions come from files, so products are checked and negative sizes refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

// Product of the dimensions, 1 for a scalar; nullopt if a dimension is negative or the product of
// the non-zero dimensions overflows (an empty tensor with absurd other dimensions is absurd too).
std::optional<int64_t> element_count(const Shape& shape);

// The shape without its axes of length 1.
Shape squeezed(const Shape& shape);

std::string to_string(const Shape& shape);                       // "[1, 64, 112]", "[]"
std::string join(const Shape& shape, std::string_view between);  // "1x64x112" for "x"

// "1,3,224,224" or "1x3x224x224"; "" or "scalar" is a scalar. nullopt if malformed.
std::optional<Shape> shape_from_text(std::string_view text);

}  // namespace plumb
