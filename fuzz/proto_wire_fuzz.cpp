// SPDX-License-Identifier: Apache-2.0
//
// The protobuf wire format: fields lie inside the message, in order, and numbers survive rewriting.
#include "base/proto_wire.h"
#include "must_hold.h"

namespace {

void read(plumb::Bytes message, uint64_t origin, int depth) {
  plumb::ProtoReader reader(message, origin);
  uint64_t last = origin;
  for (plumb::ProtoField field; reader.next(field);) {
    must_hold(field.number != 0 && field.position >= last && field.content > field.position);
    must_hold(field.content + field.bytes.size() <= origin + message.size());
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
      must_hold(again.ok() && same == values);
    }
    if (field.type == plumb::WireType::kBytes && depth < 8)
      read(field.bytes, field.content, depth + 1);
  }
  must_hold(reader.ok() || reader.failed_at() <= origin + message.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read(std::as_bytes(std::span(data, size)), 1000, 0);
  return 0;
}
