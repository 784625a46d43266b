// SPDX-License-Identifier: Apache-2.0
//
// Overflow debug records: what a compute unit noted about the task in which a value overflowed.
// They come as the outputs of a standard dump of the pseudo operator Node_OpDebug, in one of two
// layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/format.h"

namespace plumb::io {

struct OverflowField {
  std::string_view name;
  std::vector<uint64_t> values;  // one, but four status words in version 1
  bool is_address = false;       // printed in hexadecimal
};

// What one unit says about itself.
struct OverflowUnit {
  std::string_view name;  // "AIC", "SDMA", ...; in the old layout "AI Core", "L2 Atomic Add", ...
  std::vector<OverflowField> fields;

  std::optional<uint64_t> value(std::string_view field) const;  // the first, if there are several
  bool has_overflow() const;  // a status word is not zero; its bits depend on the hardware
};

struct OverflowRecord {
  bool is_old_layout = false;
  uint32_t version = 0;  // this and the next three only in the new layout
  uint32_t valid = 0;
  uint32_t reserved = 0;
  uint32_t data_len = 0;
  std::vector<OverflowUnit> units;  // one; three in the old layout
  std::vector<std::string> warnings;
};

// The operator such dumps claim to be of.
inline constexpr std::string_view kOverflowOperator = "Node_OpDebug";

// A task, context or thread id of this value means: none.
inline constexpr uint64_t kOverflowNone = 65535;

// By the name devices give the file, or by the operator's if the file was renamed.
bool is_overflow_dump(std::string_view file_name, const Listing& listing);

// `record` lies at `offset_bytes` in its file; errors count from there.
Result<OverflowRecord> decode_overflow(Bytes record, uint64_t offset_bytes = 0);
// Of one listed output of an overflow dump.
Result<OverflowRecord> decode_overflow(Bytes file, const TensorInfo& info);

// The text msaccucmp writes for it, to the byte: four-space indent, no newline at the end.
std::string to_json(const OverflowRecord& record);

}  // namespace plumb::io
