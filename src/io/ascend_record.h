// SPDX-License-Identifier: Apache-2.0
//
// What a tensor record of an Ascend file means: its element type number, format word, shapes and
// size. Standard dumps, nano dumps and ATB files describe tensors in the same terms and share this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace plumb::io {

// Dumps start with the length of their header, a u64.
inline constexpr size_t kDumpLengthBytes = 8;

struct AscendType {
  std::string name;         // "FLOAT16"; "type 77" for a number without a name
  DType dtype;              // kOpaque if elements of this type cannot be decoded
  std::string_view note;    // what decoding assumes, if anything
  bool is_untyped = false;  // UNDEFINED: the bytes of the record, whatever its shape says
};

// By the number that dump headers use, and by the graph engine's (nano dumps, ATB).
AscendType ascend_type(uint64_t header_number);
AscendType graph_engine_type(int64_t number);

// The numbers to write for a type; nullopt if it has none or its elements come unpacked (int4,
// uint1).
std::optional<uint32_t> header_number_of(DType dtype);
std::optional<uint32_t> graph_engine_number_of(DType dtype);

// A format is one word: the layout in bits 0..7, and in bits 8..23 the number of groups, which
// device dumps carry in a field of their own (`sub_format`).
Layout layout_of(uint64_t format_word, int64_t sub_format);

struct AscendRecord {
  std::string name;
  AscendType type;
  Layout layout;
  std::optional<Shape> shape;  // nullopt: the header has none
  std::optional<Shape> original_shape;
  bool is_flat_without_shape = false;  // else a record without a shape is one element
  uint64_t offset_bytes = 0;           // in the file, which holds all of the record
  uint64_t size_bytes = 0;
};

// A record whose shape and size disagree comes back with TensorInfo::error set: one bad record must
// not hide the others.
TensorInfo tensor_from_record(AscendRecord record);

}  // namespace plumb::io
