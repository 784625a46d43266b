// SPDX-License-Identifier: Apache-2.0
#include "base/proto_wire.h"

namespace plumb {

void ProtoReader::fail(uint64_t position, std::string problem) {
  if (!ok()) return;
  failed_at_ = position;
  problem_ = std::move(problem);
}

bool ProtoReader::read_varint(uint64_t& value) {
  value = 0;
  const size_t start = at_;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == message_.size()) {
      if (ok()) missing_ = 1;
      fail(origin_ + start, "the message ends inside a number");
      return false;
    }
    const auto byte = static_cast<uint64_t>(message_[at_++]);
    value |=
        (byte & 0x7F) << shift;  // what the tenth byte has beyond 64 bits is dropped, as elsewhere
    if (byte < 0x80) return true;
  }
  fail(origin_ + start, "a number is longer than ten bytes");
  return false;
}

bool ProtoReader::next(ProtoField& field) {
  if (!ok() || at_ == message_.size()) return false;
  field = {};
  field.position = origin_ + at_;
  uint64_t tag;
  if (!read_varint(tag)) return false;
  if (tag >> 32 != 0 || tag >> 3 == 0) {
    fail(field.position, "field number " + std::to_string(tag >> 3) + " does not exist");
    return false;
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  field.content = origin_ + at_;
  uint64_t size = 0;
  switch (field.type) {
    case WireType::kVarint: return read_varint(field.value);
    case WireType::kFixed64: size = 8; break;
    case WireType::kFixed32: size = 4; break;
    case WireType::kBytes:
      if (!read_varint(size)) return false;
      field.content = origin_ + at_;
      break;
    default:
      fail(field.position, "field " + std::to_string(field.number) + " has wire type " +
                               std::to_string(tag & 7) + ", which is not used");
      return false;
  }
  const size_t left = message_.size() - at_;
  if (size > left) {
    if (field.type == WireType::kBytes) field.bytes = message_.subspan(at_);
    missing_ = size - left;
    fail(field.position, "field " + std::to_string(field.number) + " needs " +
                             std::to_string(size) + " bytes, " + std::to_string(left) +
                             " are left");
    return false;
  }
  const std::byte* at = message_.data() + at_;
  if (field.type == WireType::kFixed64) field.value = load_le<uint64_t>(at);
  if (field.type == WireType::kFixed32) field.value = load_le<uint32_t>(at);
  if (field.type == WireType::kBytes) field.bytes = {at, static_cast<size_t>(size)};
  at_ += static_cast<size_t>(size);
  return true;
}

bool ProtoReader::append_varints(const ProtoField& field, std::vector<int64_t>& out, size_t limit) {
  const auto add = [&](uint64_t value) {
    if (out.size() >= limit) {
      fail(field.position, "field " + std::to_string(field.number) + " has more than " +
                               std::to_string(limit) + " numbers");
      return false;
    }
    out.push_back(static_cast<int64_t>(value));
    return true;
  };
  if (field.type == WireType::kVarint) return add(field.value);
  if (field.type != WireType::kBytes) {
    fail(field.position, "field " + std::to_string(field.number) + " is not a list of numbers");
    return false;
  }
  ProtoReader list(field);
  while (list.at_ < field.bytes.size()) {
    uint64_t value;
    if (!list.read_varint(value)) {
      fail(list.failed_at_, list.problem_);
      return false;
    }
    if (!add(value)) return false;
  }
  return true;
}

void ProtoWriter::raw_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtoWriter::tag(uint32_t number, WireType type) {
  raw_varint(uint64_t{number} << 3 | static_cast<uint64_t>(type));
}

void ProtoWriter::varint(uint32_t number, uint64_t value) {
  if (value != 0) varint_or_zero(number, value);
}

void ProtoWriter::varint_or_zero(uint32_t number, uint64_t value) {
  tag(number, WireType::kVarint);
  raw_varint(value);
}

void ProtoWriter::fixed32(uint32_t number, uint32_t value) {
  tag(number, WireType::kFixed32);
  append(std::as_bytes(std::span(&value, 1)));
}

void ProtoWriter::text(uint32_t number, std::string_view value) {
  if (value.empty()) return;
  tag(number, WireType::kBytes);
  raw_varint(value.size());
  bytes_ += value;
}

void ProtoWriter::packed(uint32_t number, std::span<const int64_t> values) {
  ProtoWriter list;
  for (int64_t value : values) list.raw_varint(static_cast<uint64_t>(value));
  text(number, list.bytes_);
}

void ProtoWriter::message(uint32_t number, const ProtoWriter& value) {
  message(number, as_bytes(value.bytes_));
}

void ProtoWriter::message(uint32_t number, Bytes value) {
  begin(number, value.size());
  append(value);
}

void ProtoWriter::begin(uint32_t number, uint64_t size) {
  tag(number, WireType::kBytes);
  raw_varint(size);
}

void ProtoWriter::append(Bytes fields) { bytes_ += as_text(fields); }

}  // namespace plumb
