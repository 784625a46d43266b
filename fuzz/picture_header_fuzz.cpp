// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the header of a JPEG, PNG or BMP file. What is accepted has a size that can be
// decoded.
#include <cstdlib>

#include "input/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const auto found = input::image_file_size(std::as_bytes(std::span(data, size)));
  if (found && !input::image_bytes(input::ColorSpace::kBgr, *found)) std::abort();
  if (!found && (found.error().what.empty() || found.error().where.empty())) std::abort();
  return 0;
}
