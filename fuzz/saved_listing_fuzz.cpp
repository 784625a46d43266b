// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the saved listing of a dump. What is accepted is written and accepted as the same.
#include "dump/saved_listing.h"

using namespace plumb;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes from = std::as_bytes(std::span(data, size));
  const auto set = dump::read_listing(from, {});
  if (!set) return 0;
  std::string bytes, again;
  dump::save_listing(*set, bytes);
  Bytes rest = as_bytes(bytes);
  const auto read = dump::read_listing(rest, {});
  if (!read || !rest.empty()) __builtin_trap();
  dump::save_listing(*read, again);
  if (again != bytes) __builtin_trap();
  return 0;
}
