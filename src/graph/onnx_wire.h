// SPDX-License-Identifier: Apache-2.0
//
// Messages of an ONNX model that was read before (see onnx_model.h), looked into and rewritten
// field by field. Nothing is checked here: the reader has walked through all of it.
#pragma once

#include <string>
#include <string_view>

#include "base/proto_wire.h"

namespace plumb::graph {

// `visit(field, raw)` for each field; `raw` begins with the tag.
template <class Visit>
void each_field(Bytes message, Visit visit) {
  ProtoReader reader(message);
  ProtoField field, next;
  for (bool more = reader.next(field); more; field = next) {
    more = reader.next(next);
    const size_t end = more ? static_cast<size_t>(next.position) : message.size();
    const auto begin = static_cast<size_t>(field.position);
    visit(field, message.subspan(begin, end - begin));
  }
}

// The message with some fields changed: `edit(field, out)` writes what stands for a field and says
// true, or says false and the field stays.
template <class Edit>
std::string rewritten(Bytes message, Edit edit) {
  ProtoWriter out;
  each_field(message, [&](const ProtoField& field, Bytes raw) {
    if (!edit(field, out)) out.append(raw);
  });
  return std::move(out).take();
}

// The text of a field, the last one as in all of protobuf; empty if there is none.
inline std::string_view text_in(Bytes message, uint32_t number) {
  std::string_view text;
  each_field(message, [&](const ProtoField& field, Bytes) {
    if (field.number == number) text = as_text(field.bytes);
  });
  return text;
}

// The message with this text in a field that it has once at most.
inline std::string with_text(Bytes message, uint32_t number, std::string_view text) {
  ProtoWriter last;
  last.message(number, as_bytes(text));
  return rewritten(message,
                   [&](const ProtoField& field, ProtoWriter&) { return field.number == number; }) +
         last.bytes();
}

}  // namespace plumb::graph
