// SPDX-License-Identifier: Apache-2.0
#include "io/ascend_message.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/proto_wire.h"
#include "io/ascend_record.h"
#include "io/format.h"

namespace plumb::io {
namespace {

// An empty record takes two bytes of the file and five hundred of memory.
constexpr size_t kMaxRecords = 1 << 16;

uint64_t number_in(ProtoReader& reader, const ProtoField& field) {
  if (field.type != WireType::kVarint)
    reader.fail(field.position, fmt::format("field {} is not a number", field.number));
  return field.value;
}

bool is_nested(ProtoReader& reader, const ProtoField& field) {
  if (field.type == WireType::kBytes) return true;
  reader.fail(field.position, fmt::format("field {} has no length", field.number));
  return false;
}

std::string_view text_in(ProtoReader& reader, const ProtoField& field) {
  if (!is_nested(reader, field)) return {};
  const std::string_view text = as_text(field.bytes);
  if (!simdjson::validate_utf8(text.data(), text.size()))
    reader.fail(field.content, fmt::format("text of field {} is not UTF-8", field.number));
  return text;
}

// Repeated occurrences of a message merge, so the dimensions append.
void read_shape_message(ProtoReader& outer, const ProtoField& message,
                        std::optional<Shape>& shape) {
  if (!is_nested(outer, message)) return;
  if (!shape) shape.emplace();
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);)
    if (field.number == 1) reader.append_varints(field, *shape, kMaxAxes);
  if (!reader.ok()) outer.fail(reader.failed_at(), reader.problem());
}

void read_original_op(ProtoReader& outer, const ProtoField& message,
                      std::optional<OriginalOp>& op) {
  if (!is_nested(outer, message)) return;
  if (!op) op.emplace();
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) op->name = text_in(reader, field);
    if (field.number == 2) op->index = number_in(reader, field);
    if (field.number == 4) op->format = number_in(reader, field);
  }
  if (!reader.ok()) outer.fail(reader.failed_at(), reader.problem());
}

void read_dump_record(ProtoReader& outer, const ProtoField& message, const RecordFields& fields,
                      DumpRecord& record) {
  if (!is_nested(outer, message)) return;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    const uint32_t number = field.number;
    if (number == fields.data_type) record.data_type = number_in(reader, field);
    if (number == fields.format) record.format = number_in(reader, field);
    if (number == fields.shape) read_shape_message(reader, field, record.shape);
    if (number == fields.original_op) read_original_op(reader, field, record.original_op);
    if (number == fields.size) record.size = number_in(reader, field);
    if (number == fields.original_shape) read_shape_message(reader, field, record.original_shape);
    if (number == fields.sub_format)
      record.sub_format = static_cast<int64_t>(number_in(reader, field));
    if (number == fields.address) record.address = number_in(reader, field);
    if (number == fields.data && is_nested(reader, field)) {
      record.data = field.bytes;
      record.data_at = field.content;
    }
  }
  if (!reader.ok()) outer.fail(reader.failed_at(), reader.problem());
}

void read_attribute(ProtoReader& outer, const ProtoField& message, DumpAttribute& attribute) {
  if (!is_nested(outer, message)) return;
  attribute.position = message.position;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) attribute.name = text_in(reader, field);
    if (field.number == 2) attribute.value = text_in(reader, field);
  }
  if (!reader.ok()) outer.fail(reader.failed_at(), reader.problem());
}

Result<DumpHeader> parse_header(Bytes message, uint64_t origin) {
  DumpHeader header;
  header.end = origin + message.size();
  ProtoReader reader(message, origin);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) header.version = text_in(reader, field);
    if (field.number == 2) header.dump_time = number_in(reader, field);
    if (field.number == 6) header.op_name = text_in(reader, field);
    if (field.number == 9) header.dfx_message = text_in(reader, field);
    if (field.number == 7) read_attribute(reader, field, header.attributes.emplace_back());
    for (size_t kind = 0; kind < kKindFields.size(); ++kind)
      if (field.number == kKindFields[kind])
        read_dump_record(reader, field, kRecordFields[kind], header.records[kind].emplace_back());
    if (header.size() > kMaxRecords)
      reader.fail(field.position, fmt::format("more than {} records", kMaxRecords));
  }
  if (!reader.ok())
    return Error{"dump header is damaged",
                 fmt::format("byte {}: {}", reader.failed_at(), reader.problem()),
                 "copy the file from the device again, or dump the operator again"};
  return header;
}

}  // namespace

Result<DumpHeader> read_dump_header(Bytes file) {
  if (file.empty())
    return Error{"dump file is empty", "byte 0: no header, no data",
                 "copy the file from the device again; check that its disk was not full"};
  if (file.size() <= kDumpLengthBytes)
    return Error{
        "dump file ends before its header",
        fmt::format("byte {}: a dump has 8 bytes of length and a header after it, the file "
                    "has {} bytes",
                    file.size(), file.size()),
        "copy the file from the device again; it is truncated"};
  const auto length = load_le<uint64_t>(file.data());
  const uint64_t left = file.size() - kDumpLengthBytes;
  if (length <= left)
    return parse_header(file.subspan(kDumpLengthBytes, static_cast<size_t>(length)),
                        kDumpLengthBytes);

  // Before there was a payload, a dump was nothing but the message, its data inside.
  if (auto whole = parse_header(file, 0); whole && whole->has_data()) {
    whole->is_whole_file = true;
    return whole;
  }
  return Error{"dump header is longer than its file",
               fmt::format("byte 0: header of {} bytes, {} are left", length, left),
               "copy the file from the device again; it is truncated, or no dump"};
}

}  // namespace plumb::io
