// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/wire.h"

#include <fmt/format.h>

namespace plumb::engine {
namespace {

constexpr uint64_t kAlignment = 64;          // of tensors
constexpr uint64_t kMostInline = 128 << 10;  // bytes of all tensors of a message
constexpr size_t kMostRank = 1024;

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

// How many of something follow; each takes at least a byte.
uint32_t read_count(ByteReader& fields) {
  const uint32_t count = fields.u32();
  if (count <= fields.left()) return count;
  fields.skip(fields.left() + 1);
  return 0;
}

void write_shape(FieldWriter& fields, const Shape& shape) {
  fields.number(static_cast<uint32_t>(shape.size()));
  for (const int64_t size : shape) fields.number(size);
}

Shape read_shape(ByteReader& fields) {
  Shape shape;
  const uint32_t rank = read_count(fields);
  if (rank > kMostRank) fields.skip(fields.left() + 1);
  for (uint32_t i = 0; i < rank && fields.ok(); ++i) shape.push_back(fields.i64());
  return shape;
}

std::optional<DType> read_dtype(ByteReader& fields) {
  const uint8_t value = fields.u8();
  if (value < dtypes().size()) return static_cast<DType>(value);
  return std::nullopt;
}

constexpr uint8_t kNoType = 255;

}  // namespace

void write_ports(FieldWriter& fields, const std::vector<Port>& ports) {
  fields.number(static_cast<uint32_t>(ports.size()));
  for (const Port& port : ports) {
    fields.text(port.name);
    fields.number(port.dtype ? static_cast<uint8_t>(*port.dtype) : kNoType);
    write_shape(fields, port.shape);
    fields.number(static_cast<uint32_t>(port.axes.size()));
    for (const std::string& axis : port.axes) fields.text(axis);
    fields.text(port.kind);
  }
}

std::vector<Port> read_ports(ByteReader& fields) {
  std::vector<Port> ports;
  const uint32_t count = read_count(fields);
  for (uint32_t i = 0; i < count && fields.ok(); ++i) {
    Port& port = ports.emplace_back();
    port.name = read_text(fields);
    port.dtype = read_dtype(fields);
    port.shape = read_shape(fields);
    const uint32_t axes = read_count(fields);
    for (uint32_t k = 0; k < axes && fields.ok(); ++k) port.axes.push_back(read_text(fields));
    port.kind = read_text(fields);
  }
  return ports;
}

void write_open(FieldWriter& fields, const OpenRequest& request) {
  fields.number(request.options.optimization);
  fields.number(int32_t{request.options.threads});
  fields.number(static_cast<uint32_t>(request.options.captured.size()));
  for (const Capture& capture : request.options.captured) {
    fields.text(capture.op);
    fields.number(capture.output);
    fields.text(capture.tensor);
  }
  fields.text(request.options.saved_graph.native());
  fields.text(request.directory.native());
  write_ports(fields, request.inputs);
  for (const auto& place : {request.graph, request.weights}) {
    fields.number(place.offset);
    fields.number(place.size);
  }
}

OpenRequest read_open(ByteReader& fields) {
  OpenRequest request;
  request.options.optimization = static_cast<Optimization>(fields.u8());
  request.options.threads = fields.i32();
  const uint32_t captured = read_count(fields);
  for (uint32_t i = 0; i < captured && fields.ok(); ++i) {
    Capture& capture = request.options.captured.emplace_back();
    capture.op = read_text(fields);
    capture.output = fields.i64();
    capture.tensor = read_text(fields);
  }
  request.options.saved_graph = read_text(fields);
  request.directory = read_text(fields);
  request.inputs = read_ports(fields);
  for (auto* place : {&request.graph, &request.weights}) {
    place->offset = fields.u64();
    place->size = fields.u64();
  }
  return request;
}

TensorWriter::TensorWriter(int room)
    : room_(room), room_bytes_(room < 0 ? 0 : bytes_of_file(room)) {}

Result<void> TensorWriter::add(const SentTensor& sent) {
  ++count_;
  listed_.text(sent.name);
  listed_.number(sent.place);
  listed_.text(sent.problem);
  listed_.number(sent.tensor ? static_cast<uint8_t>(sent.tensor->dtype) : kNoType);
  if (!sent.tensor) return {};
  write_shape(listed_, sent.tensor->shape);
  listed_.number(size_);
  listed_.number(uint64_t{sent.tensor->bytes.size()});
  return store(sent.tensor->bytes);
}

Result<void> TensorWriter::store(Bytes bytes) {
  const uint64_t offset = size_;
  size_ = aligned(size_ + bytes.size());
  if (size_ <= kMostInline) {
    small_ += as_text(bytes);
    small_.resize(static_cast<size_t>(size_));
    return {};
  }
  if (size_ <= room_bytes_) {
    if (!is_in_room_)
      if (auto written = write_at(room_, as_bytes(small_), 0); !written) return written;
    is_in_room_ = true;
    return write_at(room_, bytes, offset);
  }
  if (!large_) {
    auto memory = new_memory();
    if (!memory) return memory.error();
    large_ = std::move(*memory);
    auto before = is_in_room_ ? map_shared(room_, 0, offset) : OwnedBytes{as_bytes(small_), {}};
    if (!before) return before.error();
    is_in_room_ = false;
    if (auto written = write_at(large_.get(), before->bytes, 0); !written) return written;
  }
  return write_at(large_.get(), bytes, offset);
}

Result<Descriptor> TensorWriter::finish(FieldWriter& fields) {
  fields.number(count_);
  fields.raw(as_text(listed_.bytes()));
  fields.number(size_);
  fields.number(uint8_t{is_in_room_});
  if (is_in_room_) return Descriptor();
  if (large_) {
    if (auto sealed = seal(large_.get(), size_); !sealed) return sealed.error();
  } else {
    fields.pad_to(kAlignment);
    fields.raw(small_);
  }
  return std::move(large_);
}

Result<SentTensors> read_tensors(ByteReader& fields, const Message& message,
                                 const std::shared_ptr<const Room>& room) {
  const auto garbled = [](std::string where) {
    return Error{"the process that runs the model gave an answer that makes no sense",
                 std::move(where), "try again, or run the model by another engine"};
  };
  struct Place {
    uint64_t offset = 0, size = 0;
  };
  SentTensors sent;
  std::vector<Place> places;
  const uint32_t count = read_count(fields);
  for (uint32_t i = 0; i < count && fields.ok(); ++i) {
    SentTensor& one = sent.tensors.emplace_back();
    Place& place = places.emplace_back();
    one.name = read_text(fields);
    one.place = fields.u32();
    one.problem = read_text(fields);
    const auto dtype = read_dtype(fields);
    if (!dtype) continue;
    one.tensor = TensorView{*dtype, read_shape(fields), {}};
    place = {fields.u64(), fields.u64()};
    const auto elements = element_count(one.tensor->shape);
    const auto needed = elements ? byte_count(*dtype, *elements) : std::nullopt;
    if (fields.ok() && (!needed || static_cast<uint64_t>(*needed) != place.size))
      return garbled(fmt::format("tensor {} of shape {} in {} bytes", i,
                                 to_string(one.tensor->shape), place.size));
  }
  const uint64_t size = fields.u64();
  const bool is_in_room = fields.u8() != 0;
  OwnedBytes memory;
  if (is_in_room) {
    if (!room || size > room->memory.bytes.size()) return garbled("no such memory");
    memory = {room->memory.bytes.first(static_cast<size_t>(size)), room};
  } else if (size > kMostInline) {
    auto mapped = message.files.empty() ? Result<OwnedBytes>(garbled("no memory"))
                                        : map_sealed(message.files[0].get(), size);
    if (!mapped) return mapped.error();
    memory = std::move(*mapped);
  } else {
    fields.skip(aligned(fields.position()) - fields.position());
    memory = {fields.take(size), message.body.owner};
  }
  if (!fields.ok()) return garbled("it ends too early");
  for (size_t i = 0; i < places.size(); ++i) {
    if (!sent.tensors[i].tensor) continue;
    const auto [offset, bytes] = places[i];
    if (offset % kAlignment != 0 || offset > memory.bytes.size() ||
        bytes > memory.bytes.size() - offset)
      return garbled(fmt::format("tensor {} at byte {}", i, offset));
    sent.tensors[i].tensor->bytes =
        memory.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
  }
  sent.owner = std::move(memory.owner);
  sent.mapped_bytes = size > kMostInline ? size : 0;
  return sent;
}

}  // namespace plumb::engine
