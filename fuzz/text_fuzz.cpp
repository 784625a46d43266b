// SPDX-License-Identifier: Apache-2.0
#include "read_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumb::io::read_format("text", std::as_bytes(std::span(data, size)));
  return 0;
}
