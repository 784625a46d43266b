// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of digits, packed or not. What is accepted has all the pictures it counts.
#include <cstdlib>

#include "input/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  const Bytes file = std::as_bytes(std::span(data, size));
  const auto images = input::read_idx_images(file);
  if (!images) {
    if (images.error().what.empty() || images.error().where.empty()) std::abort();
    return 0;
  }
  if (!input::is_idx_images(file)) std::abort();
  if (images->count > 0 && !images->at(images->count - 1)) std::abort();
  if (images->at(images->count) || images->at(-1)) std::abort();
  return 0;
}
