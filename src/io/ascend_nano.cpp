// SPDX-License-Identifier: Apache-2.0
//
// Dumps of nano devices: a u64 length, a head of nested tag-length-value fields of that many bytes,
// then the bytes of every input and output, without padding. Types are numbered as in the graph
// engine. Nothing in the file says which operator it is from; only its name does.
#include <charconv>

#include <fmt/format.h>

#include "io/ascend_dump.h"
#include "io/ascend_record.h"

namespace plumb::io {
namespace {

constexpr uint32_t kNanoMagic = 0x5A5A5A5A;
enum Tag : uint32_t {
  kShape = 0,
  kOriginalShape = 1,
  kOriginalName = 2,
  kInputs = 4,
  kOutputs = 5
};

struct NanoRecord {
  AscendRecord tensor;
  std::string original_op;  // "name:index:FORMAT", outputs only
};

struct Head {
  uint32_t version = 0;
  std::vector<NanoRecord> records;  // in the order of the payload
  std::vector<std::string> warnings;
};

Error damaged_nano_header(uint64_t position, std::string_view problem) {
  return {"nano dump header is damaged", fmt::format("byte {}: {}", position, problem),
          "copy the file from the device again, or dump the operator again"};
}

std::optional<Shape> read_dims(Bytes value) {
  if (value.size() % sizeof(uint64_t) != 0 || value.size() / sizeof(uint64_t) > kMaxAxes)
    return std::nullopt;
  Shape shape;
  for (size_t at = 0; at < value.size(); at += sizeof(int64_t))
    shape.push_back(load_le<int64_t>(value.data() + at));
  return shape;
}

// One input or output descriptor. Its own list of fields may leave out any of them.
Result<NanoRecord> read_nano_record(ByteReader& reader, uint64_t origin, Tag kind, size_t index) {
  const bool is_output = kind == kOutputs;
  const uint64_t start = origin + reader.position();
  NanoRecord record;
  AscendRecord& tensor = record.tensor;
  tensor.name = fmt::format("{}.{}", is_output ? "output" : "input", index);
  tensor.is_flat_without_shape = true;
  tensor.type = graph_engine_type(reader.i32());
  tensor.layout = layout_of(static_cast<uint32_t>(reader.i32()), 0);
  reader.i32();  // address type
  int32_t original_index = 0;
  uint32_t original_format = 0;
  if (is_output) {
    original_index = reader.i32();
    reader.i32();  // original data type
    original_format = reader.u32();
  }
  reader.u64();  // address
  reader.u64();  // offset in device memory
  tensor.size_bytes = reader.u64();
  const uint32_t list_size = reader.u32();
  const uint64_t list_at = origin + reader.position();
  ByteReader list(reader.take(list_size));
  if (!reader.ok()) return damaged_nano_header(start, tensor.name + " is cut off");

  while (!list.at_end()) {
    const uint64_t field_at = list_at + list.position();
    const uint32_t tag = list.u32();
    const Bytes value = list.take(list.u32());
    if (!list.ok())
      return damaged_nano_header(field_at, "a field of " + tensor.name + " is cut off");
    if (tag == kShape || tag == kOriginalShape) {
      auto& shape = tag == kShape ? tensor.shape : tensor.original_shape;
      shape = read_dims(value);
      if (!shape)
        return damaged_nano_header(
            field_at, fmt::format("{} bytes are no shape of {}", value.size(), tensor.name));
    } else if (tag == kOriginalName && is_output && !value.empty()) {
      record.original_op = fmt::format("{}:{}:{}", as_text(value), original_index,
                                       name_of(layout_of(original_format, 0)));
    }
  }
  return record;
}

Result<Head> read_head(Bytes file) {
  ByteReader reader(file);
  const uint64_t length = reader.u64();
  const Bytes bytes = reader.take(length);
  if (!reader.ok())
    return Error{"nano dump header is longer than its file",
                 fmt::format("byte 0: header of {} bytes, {} are left", length,
                             file.size() - std::min(file.size(), kDumpLengthBytes)),
                 "copy the file from the device again; it is truncated"};
  ByteReader head(bytes);
  Head result;
  const uint32_t magic = head.u32();
  result.version = head.u32();
  if (!head.ok() || magic != kNanoMagic)
    return damaged_nano_header(kDumpLengthBytes, "no magic number and version");
  while (!head.at_end()) {
    const uint64_t field_at = kDumpLengthBytes + head.position();
    const uint32_t tag = head.u32();
    const uint32_t size = head.u32();
    if (!head.ok() || (tag != kInputs && tag != kOutputs && size > head.left()))
      return damaged_nano_header(field_at, "a field is cut off");
    if (tag != kInputs && tag != kOutputs) {
      head.skip(size);
      continue;
    }
    const size_t value_at = head.position();
    const uint32_t count = head.u32();
    for (uint32_t i = 0; head.ok() && i < count; ++i) {
      auto record = read_nano_record(head, kDumpLengthBytes, static_cast<Tag>(tag), i);
      if (!record) return record.error();
      result.records.push_back(std::move(*record));
    }
    if (!head.ok()) return damaged_nano_header(field_at, "a list of tensors is cut off");
    // The count says what is there; known readers do not look at the size.
    if (head.position() - value_at != size)
      result.warnings.push_back(fmt::format("byte {}: list of tensors takes {} bytes, not {}",
                                            field_at, head.position() - value_at, size));
  }
  return result;
}

bool probe_nano(Bytes head, uint64_t) { return is_nano_dump(head); }

// The operator and the time are in the file's name, if it is still the device's.
void add_name_properties(std::string_view file_name, Listing& listing) {
  if (!is_ascend_dump_name(file_name)) return;
  const size_t first = file_name.find('.') + 1;
  listing.properties.emplace_back("op_name",
                                  file_name.substr(first, file_name.find('.', first) - first));
  listing.properties.emplace_back("dump_time", file_name.substr(file_name.rfind('.') + 1));
}

Result<Listing> list_nano(Bytes file, const ReadHints& hints) {
  auto head = read_head(file);
  if (!head) return head.error();
  uint64_t at = kDumpLengthBytes + load_le<uint64_t>(file.data());
  for (NanoRecord& record : head->records) {
    AscendRecord& tensor = record.tensor;
    const uint64_t left = file.size() - at;
    if (tensor.size_bytes > left)
      return Error{"dump holds less data than its header promises",
                   fmt::format("byte {}: {} needs {} bytes, {} are left", at, tensor.name,
                               tensor.size_bytes, left),
                   "copy the file from the device again, or leave this operator out"};
    tensor.offset_bytes = at;
    at += tensor.size_bytes;
  }
  if (at != file.size())
    return Error{
        "nano dump is longer than its header says",
        fmt::format("byte {}: the last tensor ends here, {} bytes follow", at, file.size() - at),
        "copy the file from the device again; offsets in it cannot be trusted"};

  Listing listing;
  listing.properties.emplace_back("version", std::to_string(head->version));
  add_name_properties(hints.file_name, listing);
  listing.warnings = std::move(head->warnings);
  for (NanoRecord& record : head->records) {
    if (!record.original_op.empty())
      listing.properties.emplace_back(record.tensor.name + ".original_op", record.original_op);
    listing.tensors.push_back(tensor_from_record(std::move(record.tensor)));
  }
  if (listing.tensors.empty()) listing.warnings.emplace_back("the dump header lists no tensors");
  return listing;
}

}  // namespace

extern constexpr Format kAscendNano{
    "ascend-nano", "Ascend dump of a nano device", probe_nano, list_nano, nullptr, nullptr, nullptr,
};

bool is_nano_dump(Bytes head) {
  return head.size() > kDumpLengthBytes + sizeof kNanoMagic &&
         load_le<uint32_t>(head.data() + kDumpLengthBytes) == kNanoMagic;
}

}  // namespace plumb::io
