// SPDX-License-Identifier: Apache-2.0
//
// What the name of a file tells that holds nothing but elements: `msaccucmp convert -t bin` writes
// NAME.SIZE.TYPE.LAYOUT.bin, where SIZE is the shape (1_16_16_20) or the number of elements.
#pragma once

#include <optional>
#include <string_view>

#include "tensor/tensor.h"

namespace plumb::io {

struct RawName {
  DType dtype = DType::kFloat32;
  Shape shape;
  Layout layout;
  bool is_flat = false;  // `shape` is the number of elements
};

// Nothing if the name does not tell enough: of blocks of channels it has to tell the shape.
std::optional<RawName> parse_raw_name(std::string_view file_name);

}  // namespace plumb::io
