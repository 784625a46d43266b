// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a construct.json.
#include "dump/construct_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const plumb::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto parsed = plumb::dump::parse_construct_json(bytes);
  if (!parsed && (parsed.error().what.empty() || parsed.error().where.empty())) __builtin_trap();
  return 0;
}
