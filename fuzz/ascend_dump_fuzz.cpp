// SPDX-License-Identifier: Apache-2.0
//
// Standard Ascend dumps, also as the second slice of an FFTS+ operator.
#include "io/ascend_dump.h"
#include "read_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb::io;
  const plumb::Bytes file = std::as_bytes(std::span(data, size));
  read_format("ascend-dump", file, "Mul.m.1.1.1700000000000001.4.3.1.0");
  const auto slices = ffts_slices(file);
  must_hold(slices.ok() || !slices.error().where.empty());
  is_ascend_dump_name(plumb::as_text(file));
  return 0;
}
