// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a table of results, csv or xlsx.
#include "dialect/msprobe/read_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const plumb::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto read = plumb::msprobe::read_table(bytes, [](std::span<const std::string>) {});
  if (!read && (read.error().what.empty() || read.error().where.empty())) __builtin_trap();
  return 0;
}
