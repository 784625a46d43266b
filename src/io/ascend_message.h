// SPDX-License-Identifier: Apache-2.0
//
// The message at the start of a standard Ascend dump, `DumpData`: what was dumped, and a record for
// every tensor whose bytes follow. Reader and writer of dumps share its field numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plumb/result.h"
#include "tensor/tensor.h"

namespace plumb::io {

// In the order of the payload.
enum RecordKind : size_t { kInput, kOutput, kBuffer, kSpace };
inline constexpr std::array<std::string_view, 4> kKindNames{"input", "output", "l1buffer", "space"};
inline constexpr std::array<uint32_t, 4> kKindFields{4, 3, 5, 8};  // of DumpData

// Field numbers of a record. 0: the record has no such field.
struct RecordFields {
  uint32_t data_type = 0, format = 0, shape = 0, original_op = 0, data = 0, size = 0;
  uint32_t original_shape = 0, sub_format = 0, address = 0;
};
inline constexpr RecordFields kOutputFields{1, 2, 3, 4, 5, 6, 7, 8, 9};
inline constexpr RecordFields kInputFields{1, 2, 3, 0, 4, 5, 6, 7, 8};
inline constexpr RecordFields kMemoryFields{0, 0, 0, 0, 2, 3, 0, 0, 0};  // buffers and workspaces
inline constexpr std::array kRecordFields{kInputFields, kOutputFields, kMemoryFields,
                                          kMemoryFields};

struct OriginalOp {
  std::string_view name;
  uint64_t index = 0;
  uint64_t format = 0;
};

struct DumpRecord {
  uint64_t data_type = 0;
  uint64_t format = 0;
  int64_t sub_format = 0;
  std::optional<Shape> shape;
  std::optional<Shape> original_shape;
  std::optional<Shape> whole_shape;  // the original one of all slices together
  std::optional<OriginalOp> original_op;
  Bytes data;  // only files older than the payload carry it
  uint64_t data_at = 0;
  uint64_t address = 0;
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;
};

struct DumpAttribute {
  std::string_view name;
  std::string_view value;
  uint64_t position = 0;
};

// Views borrow from the file.
struct DumpHeader {
  std::string_view version;
  uint64_t dump_time = 0;
  std::string_view op_name;
  std::string_view dfx_message;
  std::array<std::vector<DumpRecord>, 4> records;  // by RecordKind
  std::vector<DumpAttribute> attributes;
  uint64_t end = 0;  // where the payload starts
  bool is_whole_file = false;

  size_t size() const {
    size_t n = attributes.size();
    for (const auto& of_kind : records) n += of_kind.size();
    return n;
  }
  bool has_data() const {
    for (const auto& of_kind : records)
      for (const DumpRecord& record : of_kind)
        if (!record.data.empty()) return true;
    return false;
  }
};

// The header of a dump. What the message says is taken as it is: sizes are not held against the
// file.
Result<DumpHeader> read_dump_header(Bytes file);

}  // namespace plumb::io
