// SPDX-License-Identifier: Apache-2.0
//
// The protobuf wire format: fields lie inside the message, in order, and numbers survive rewriting.
#include <cstdlib>

#include "base/proto_wire.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void read(plumb::Bytes message, uint64_t origin, int depth) {
  plumb::ProtoReader reader(message, origin);
  uint64_t last = origin;
  for (plumb::ProtoField field; reader.next(field);) {
    check(field.number != 0 && field.position >= last && field.content > field.position);
    check(field.content + field.bytes.size() <= origin + message.size());
    last = field.position;
    plumb::ProtoReader list(message, origin);
    std::vector<int64_t> values;
    if (list.append_varints(field, values, 100)) {
      plumb::ProtoWriter writer;
      writer.packed(1, values);
      plumb::ProtoReader again(plumb::as_bytes(writer.bytes()));
      std::vector<int64_t> same;
      plumb::ProtoField packed;
      while (again.next(packed)) again.append_varints(packed, same, 100);
      check(again.ok() && same == values);
    }
    if (field.type == plumb::WireType::kBytes && depth < 8)
      read(field.bytes, field.content, depth + 1);
  }
  check(reader.ok() || reader.failed_at() <= origin + message.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read(std::as_bytes(std::span(data, size)), 1000, 0);
  return 0;
}
