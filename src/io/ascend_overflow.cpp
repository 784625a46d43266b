// SPDX-License-Identifier: Apache-2.0
#include "io/ascend_overflow.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace plumb::io {
namespace {

constexpr uint32_t kOverflowMagic = 0x5A5A5A5A;
constexpr size_t kOldBytes = 2048;
constexpr std::string_view kDumpOverflowAgain =
    "dump again with overflow detection on; this record is damaged";

constexpr std::string_view kCoreFields[] = {"model_id",   "stream_id", "task_id",  "task_type",
                                            "context_id", "thread_id", "pc_start", "para_base",
                                            "core_id",    "block_id",  "status"};
constexpr std::string_view kSdmaFields[] = {"model_id",   "stream_id", "task_id",  "task_type",
                                            "context_id", "thread_id", "src_addr", "dst_addr",
                                            "channel_id", "status"};
constexpr std::string_view kCpuFields[] = {"model_id",   "stream_id", "task_id",   "task_type",
                                           "context_id", "cpu_id",    "thread_id", "status"};

struct UnitKind {
  std::string_view name;
  std::span<const std::string_view> fields;
  bool is_core;
};
constexpr UnitKind kUnits[] = {
    // by acc_type
    {"AIC", kCoreFields, true},
    {"AIV", kCoreFields, true},
    {"AICPU", kCpuFields, false},
    {"SDMA", kSdmaFields, false},
};

bool is_address(std::string_view field) {
  constexpr std::string_view kAddresses[] = {"pc_start", "para_base", "src_addr", "dst_addr",
                                             "kernel_code"};
  return std::ranges::find(kAddresses, field) != std::end(kAddresses);
}

OverflowField read_field(ByteReader& reader, std::string_view name, size_t count = 1) {
  OverflowField field{name, {}, is_address(name)};
  for (size_t i = 0; i < count; ++i) field.values.push_back(reader.u64());
  return field;
}

Result<OverflowRecord> decode_new(ByteReader reader, uint64_t offset_bytes) {
  OverflowRecord record;
  record.version = reader.u32();
  record.valid = reader.u32();
  const uint32_t type = reader.u32();
  record.reserved = reader.u32();
  record.data_len = reader.u32();
  const auto cut_off = [&](std::string_view what, size_t needed) {
    return Error{"overflow record is cut off",
                 fmt::format("byte {}: {} needs {} bytes, {} are left",
                             offset_bytes + reader.position(), what, needed, reader.left()),
                 std::string(kDumpOverflowAgain)};
  };
  if (!reader.ok()) return cut_off("the record's head", 24 - reader.position());
  if (type >= std::size(kUnits))
    return Error{"overflow record is of an unknown unit",
                 fmt::format("byte {}: acc_type is {}, known are 0 (AIC), 1 (AIV), 2 (AICPU) and 3 "
                             "(SDMA)",
                             offset_bytes + 12, type),
                 std::string(kDumpOverflowAgain)};
  const UnitKind& kind = kUnits[type];
  const size_t status_words = kind.is_core && record.version == 1 ? 4 : 1;
  const size_t needed = (kind.fields.size() - 1 + status_words) * sizeof(uint64_t);
  if (reader.left() < needed) return cut_off(kind.name, needed);
  OverflowUnit unit{kind.name, {}};
  for (std::string_view name : kind.fields)
    unit.fields.push_back(read_field(reader, name, name == "status" ? status_words : 1));
  record.units.push_back(std::move(unit));
  if (record.valid != 1)
    record.warnings.push_back(fmt::format("the record is not marked as valid ({})", record.valid));
  if (record.data_len != needed)
    record.warnings.push_back(
        fmt::format("the record says {} bytes, {} has {}", record.data_len, kind.name, needed));
  return record;
}

// Offsets: 0, 128 and 256 what each unit was doing, 512, 768 and 1024 how it ended.
OverflowRecord decode_old(Bytes bytes) {
  OverflowRecord record;
  record.is_old_layout = true;
  constexpr std::array<std::string_view, 3> kNames{"DHA Atomic Add", "L2 Atomic Add", "AI Core"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    OverflowUnit unit{kNames[i], {}};
    ByteReader task(bytes.subspan(128 * i));
    for (std::string_view name : std::span(kCoreFields).first(4))
      unit.fields.push_back(read_field(task, name));
    unit.fields.push_back(read_field(task, "pc_start"));
    unit.fields.push_back(read_field(task, "para_base"));
    ByteReader end(bytes.subspan(512 + 256 * i));
    if (kNames[i] == "AI Core") {
      unit.fields.push_back(read_field(end, "kernel_code"));
      unit.fields.push_back(read_field(end, "block_idx"));
    }
    unit.fields.push_back(read_field(end, "status"));
    record.units.push_back(std::move(unit));
  }
  return record;
}

std::string number(const OverflowField& field, uint64_t value) {
  return field.is_address ? fmt::format("\"{:#x}\"", value) : std::to_string(value);
}

std::string fields_json(const OverflowUnit& unit, size_t indent) {
  const std::string margin(indent + 4, ' ');
  std::string text = "{";
  for (const OverflowField& field : unit.fields) {
    text += fmt::format("{}\n{}\"{}\": ", text.size() > 1 ? "," : "", margin, field.name);
    if (field.values.size() == 1) {
      text += number(field, field.values[0]);
      continue;
    }
    for (size_t i = 0; i < field.values.size(); ++i)
      text +=
          fmt::format("{}\n{}    {}", i == 0 ? "[" : ",", margin, number(field, field.values[i]));
    text += fmt::format("\n{}]", margin);
  }
  return text + "\n" + std::string(indent, ' ') + "}";
}

}  // namespace

std::optional<uint64_t> OverflowUnit::value(std::string_view field) const {
  for (const OverflowField& known : fields)
    if (known.name == field) return known.values.front();
  return std::nullopt;
}

bool OverflowUnit::has_overflow() const {
  for (const OverflowField& field : fields)
    if (field.name == "status")
      return std::ranges::any_of(field.values, [](uint64_t word) { return word != 0; });
  return false;
}

bool is_overflow_dump(std::string_view file_name, const Listing& listing) {
  if (file_name.starts_with(fmt::format("Opdebug.{}.", kOverflowOperator))) return true;
  return std::ranges::any_of(listing.properties, [](const auto& property) {
    return property.first == "op_name" && property.second == kOverflowOperator;
  });
}

Result<OverflowRecord> decode_overflow(Bytes record, uint64_t offset_bytes) {
  ByteReader reader(record);
  if (reader.u32() == kOverflowMagic) return decode_new(reader, offset_bytes);
  if (record.size() != kOldBytes)
    return Error{
        "overflow record has the wrong size",
        fmt::format("byte {}: {} bytes without the magic number 0x5a5a5a5a; the old layout has "
                    "exactly {}",
                    offset_bytes, record.size(), kOldBytes),
        std::string(kDumpOverflowAgain)};
  return decode_old(record);
}

Result<OverflowRecord> decode_overflow(Bytes file, const TensorInfo& info) {
  if (info.error) return *info.error;
  const auto count = element_count(info.shape);
  const auto bytes = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!bytes || info.offset_bytes > file.size() ||
      static_cast<uint64_t>(*bytes) > file.size() - info.offset_bytes)
    return Error{"tensor lies outside its file",
                 fmt::format("byte {}: {} {}, the file has {} bytes", info.offset_bytes, info.name,
                             to_string(info.shape), file.size()),
                 "copy the file again; it is truncated"};
  return decode_overflow(file.subspan(info.offset_bytes, static_cast<size_t>(*bytes)),
                         info.offset_bytes);
}

std::string to_json(const OverflowRecord& record) {
  if (record.is_old_layout) {
    std::string text = "{";
    for (const OverflowUnit& unit : record.units)
      text += fmt::format("{}\n    \"{}\": {}", text.size() > 1 ? "," : "", unit.name,
                          fields_json(unit, 4));
    return text + "\n}";
  }
  const OverflowUnit& unit = record.units.front();
  return fmt::format(
      "{{\n    \"magic\": \"{:#x}\",\n    \"version\": {},\n    \"acc_list\": {{\n"
      "        \"valid\": {},\n        \"acc_type\": \"{}\",\n        \"rsv\": {},\n"
      "        \"data_len\": {},\n        \"data\": {}\n    }}\n}}",
      kOverflowMagic, record.version, record.valid, unit.name, record.reserved, record.data_len,
      fields_json(unit, 8));
}

}  // namespace plumb::io
