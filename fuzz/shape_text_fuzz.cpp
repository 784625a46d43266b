// SPDX-License-Identifier: Apache-2.0
//
// Shapes typed by users or found in text files. Whatever is accepted has sane dimensions, and
// prints to a text that is accepted again as the same shape.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/shape.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto shape = plumb::shape_from_text(text);
  if (!shape) return 0;
  for (int64_t dim : *shape)
    if (dim < 0) __builtin_trap();
  for (std::string_view between : {",", "x"})
    if (plumb::shape_from_text(plumb::join(*shape, between)) != shape) __builtin_trap();
  const auto count = plumb::element_count(*shape);
  if (count && *count < 0) __builtin_trap();
  return 0;
}
