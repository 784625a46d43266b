// SPDX-License-Identifier: Apache-2.0
//
// Overflow debug records, alone and as the outputs of a dump; what decodes must print as JSON.
#include <nlohmann/json.hpp>

#include "io/ascend_overflow.h"
#include "read_format.h"

namespace {

using namespace plumb::io;

void print(const plumb::Result<OverflowRecord>& record) {
  if (!record) return must_hold(!record.error().what.empty() && !record.error().where.empty());
  must_hold(nlohmann::json::parse(to_json(*record), nullptr, false).is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const plumb::Bytes file = std::as_bytes(std::span(data, size));
  print(decode_overflow(file));
  if (auto listing = format_by_name("ascend-dump")->list(file, {}))
    for (const plumb::TensorInfo& info : listing->tensors) print(decode_overflow(file, info));
  return 0;
}
