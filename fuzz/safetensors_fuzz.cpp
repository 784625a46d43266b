// SPDX-License-Identifier: Apache-2.0
#include "read_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const plumb::io::Format& format = *plumb::io::format_by_name("safetensors");
  plumb::io::read_tensors(format, std::as_bytes(std::span(data, size)));
  return 0;
}
