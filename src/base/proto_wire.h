// SPDX-License-Identifier: Apache-2.0
//
// The protobuf wire format, read in place and written plainly: just tags, varints and lengths, no
// schema. We do not use libprotobuf for tensor files because a payload must stay a view into the
// mapped file, a program that reads no protobuf must not pay for its start-up, and thousands of
// small headers a second must not each build a tree of objects. Described at protobuf.dev under
// "Encoding".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "plumb/result.h"

namespace plumb {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;     // of a varint or fixed-width field
  Bytes bytes;            // of a length-delimited field; borrowed from the message
  uint64_t position = 0;  // of the tag
  uint64_t content = 0;   // of the first byte after tag and length
};

// Hands out the fields of one message in the order they are stored. Fields of any number come out,
// so that skipping an unknown one is doing nothing. The first failure sticks; ask `ok` when `next`
// ends.
class ProtoReader {
 public:
  // Positions in fields and errors count from `origin`, where the message starts in its file.
  explicit ProtoReader(Bytes message, uint64_t origin = 0) : message_(message), origin_(origin) {}
  // A sub-message.
  explicit ProtoReader(const ProtoField& field) : ProtoReader(field.bytes, field.content) {}

  bool next(ProtoField& field);  // false at the end and on failure

  // Adds the varints of a repeated field, packed or not. False (and failure) on anything else, and
  // when `out` would hold more than `limit`: one byte of input becomes eight of memory here.
  bool append_varints(const ProtoField& field, std::vector<int64_t>& out, size_t limit);

  // For the caller: what it read makes no sense. The first failure wins.
  void fail(uint64_t position, std::string problem);

  bool ok() const { return problem_.empty(); }
  uint64_t failed_at() const { return failed_at_; }        // meaningful if not ok()
  const std::string& problem() const { return problem_; }  // one clause, e.g. "field number 0"
  // How many more bytes the message would have needed; 0 if that is not why it failed. The field
  // that was being read then holds the bytes there are, for those who look at the head of a file
  // only.
  uint64_t missing() const { return missing_; }

 private:
  bool read_varint(uint64_t& value);

  Bytes message_;
  uint64_t origin_;
  size_t at_ = 0;
  uint64_t failed_at_ = 0;
  uint64_t missing_ = 0;
  std::string problem_;
};

// Appends fields to a message in proto3 style: zero and empty scalars are left out, as every reader
// assumes them; a sub-message is written even when empty, since its presence means something.
class ProtoWriter {
 public:
  void varint(uint32_t number, uint64_t value);
  void varint_or_zero(uint32_t number, uint64_t value);  // written even if 0, as proto2 does
  void fixed32(uint32_t number, uint32_t value);         // likewise
  void text(uint32_t number, std::string_view value);
  void packed(uint32_t number, std::span<const int64_t> values);
  void message(uint32_t number, const ProtoWriter& value);
  void message(uint32_t number, Bytes value);
  // A message of `size` bytes, which the caller appends next.
  void begin(uint32_t number, uint64_t size);
  void append(Bytes fields);  // as they are, tags and all

  const std::string& bytes() const { return bytes_; }
  std::string take() && { return std::move(bytes_); }
  void reserve(size_t size) { bytes_.reserve(size); }

 private:
  void tag(uint32_t number, WireType type);
  void raw_varint(uint64_t value);

  std::string bytes_;
};

}  // namespace plumb
