// SPDX-License-Identifier: Apache-2.0
#include "io/ascend_record.h"

#include <array>

#include <fmt/format.h>

namespace plumb::io {
namespace {

using enum DType;

struct TypeRow {
  std::string_view name;
  DType dtype;
  std::string_view note = {};
};

constexpr std::string_view kQuantized = "quantized type read as plain integers";

// In header numbering.
constexpr std::array kAscendTypes{
    TypeRow{"UNDEFINED", kInt8},
    TypeRow{"FLOAT", kFloat32},
    TypeRow{"FLOAT16", kFloat16},
    TypeRow{"INT8", kInt8},
    TypeRow{"UINT8", kUint8},
    TypeRow{"INT16", kInt16},
    TypeRow{"UINT16", kUint16},
    TypeRow{"INT32", kInt32},
    TypeRow{"INT64", kInt64},
    TypeRow{"UINT32", kUint32},
    TypeRow{"UINT64", kUint64},
    TypeRow{"BOOL", kBool},
    TypeRow{"DOUBLE", kFloat64},
    TypeRow{"STRING", kOpaque},
    TypeRow{"DUAL_SUB_INT8", kOpaque},
    TypeRow{"DUAL_SUB_UINT8", kOpaque},
    TypeRow{"COMPLEX64", kComplex64},
    TypeRow{"COMPLEX128", kComplex128},
    TypeRow{"QINT8", kInt8, kQuantized},
    TypeRow{"QINT16", kInt16, kQuantized},
    TypeRow{"QINT32", kInt32, kQuantized},
    TypeRow{"QUINT8", kUint8, kQuantized},
    TypeRow{"QUINT16", kUint16, kQuantized},
    TypeRow{"RESOURCE", kInt64, "resource handles read as int64"},
    TypeRow{"STRING_REF", kOpaque},
    TypeRow{"DUAL", kOpaque},
    TypeRow{"VARIANT", kOpaque},
    TypeRow{"BF16", kBFloat16},
    TypeRow{"INT4", kInt4, "int4: low nibble assumed to come first"},
    TypeRow{"UINT1", kUint1},
    TypeRow{"INT2", kOpaque},
    TypeRow{"UINT2", kOpaque},
    TypeRow{"COMPLEX32", kOpaque},
    TypeRow{"HIFLOAT8", kHiFloat8},
    TypeRow{"FLOAT8_E5M2", kFloat8E5M2},
    TypeRow{"FLOAT8_E4M3FN", kFloat8E4M3Fn},
    TypeRow{"FLOAT8_E8M0", kOpaque},
    TypeRow{"FLOAT6_E3M2", kOpaque},
    TypeRow{"FLOAT6_E2M3", kOpaque},
    TypeRow{"FLOAT4_E2M1", kOpaque},
    TypeRow{"FLOAT4_E1M2", kOpaque},
    TypeRow{"HIFLOAT4", kOpaque},
    TypeRow{"HIFLOAT4_SCALE", kOpaque},
};
static_assert(kAscendTypes.size() == 43);

// Header number by graph-engine number. Beyond UNDEFINED (28) the two differ by one.
constexpr int kNone = -1;
constexpr std::array kFromGraphEngine{1,  2,  3,  7,  4,  kNone, 5,  6,  9,  8,  10, 12, 11, 13, 14,
                                      15, 16, 17, 18, 19, 20,    21, 22, 23, 24, 25, 26, 27, 0};

std::optional<uint32_t> header_number_from(int64_t graph_engine) {
  if (graph_engine < 0) return std::nullopt;
  if (graph_engine < static_cast<int64_t>(kFromGraphEngine.size())) {
    const int number = kFromGraphEngine[static_cast<size_t>(graph_engine)];
    return number == kNone ? std::nullopt : std::optional(static_cast<uint32_t>(number));
  }
  if (graph_engine > static_cast<int64_t>(kAscendTypes.size())) return std::nullopt;
  return static_cast<uint32_t>(graph_engine - 1);
}

Error damaged_shape(const TensorInfo& info) {
  return {
      "tensor shape is impossible",
      fmt::format("byte {}: {} has shape {}", info.offset_bytes, info.name, to_string(info.shape)),
      "dump the operator again with its shapes resolved; the header is damaged or dynamic"};
}

}  // namespace

AscendType ascend_type(uint64_t header_number) {
  if (header_number >= kAscendTypes.size())
    return {fmt::format("type {}", header_number), kOpaque, {}};
  const TypeRow& row = kAscendTypes[static_cast<size_t>(header_number)];
  return {std::string(row.name), row.dtype, row.note, header_number == 0};
}

AscendType graph_engine_type(int64_t number) {
  if (auto header = header_number_from(number)) return ascend_type(*header);
  return {fmt::format("type {}", number), kOpaque, {}};
}

std::optional<uint32_t> header_number_of(DType dtype) {
  if (dtype == kOpaque || info_of(dtype).unpacked != dtype) return std::nullopt;
  for (uint32_t i = 1; i < kAscendTypes.size(); ++i)
    if (kAscendTypes[i].dtype == dtype) return i;
  return std::nullopt;
}

std::optional<uint32_t> graph_engine_number_of(DType dtype) {
  const auto wanted = header_number_of(dtype);
  for (uint32_t i = 0; wanted && i <= kAscendTypes.size(); ++i)
    if (header_number_from(i) == wanted) return i;
  return std::nullopt;
}

Layout layout_of(uint64_t format_word, int64_t sub_format) {
  const auto packed_groups = static_cast<int>(format_word >> 8 & 0xFFFF);
  const int groups =
      sub_format > 0 && sub_format <= 0xFFFF ? static_cast<int>(sub_format) : packed_groups;
  return {static_cast<int>(format_word & 0xFF), std::max(groups, 1)};
}

TensorInfo tensor_from_record(AscendRecord record) {
  TensorInfo info;
  info.name = std::move(record.name);
  info.dtype = record.type.dtype;
  info.offset_bytes = record.offset_bytes;
  info.size_bytes = record.size_bytes;
  if (!record.type.note.empty()) info.notes.emplace_back(record.type.note);

  const auto size = static_cast<int64_t>(record.size_bytes);
  if (record.type.is_untyped || info.dtype == kOpaque) {
    if (info.dtype == kOpaque) info.dtype_name = std::move(record.type.name);
    info.shape = {size};
    if (record.shape && !record.shape->empty() && *record.shape != info.shape)
      info.notes.push_back(fmt::format("raw bytes; the header says {} {}",
                                       record.type.is_untyped ? "UNDEFINED" : info.dtype_name,
                                       to_string(*record.shape)));
    return info;
  }

  info.layout = record.layout;
  const bool has_shape = record.shape.has_value();
  if (has_shape) {
    info.shape = std::move(*record.shape);
  } else if (record.is_flat_without_shape || size == 0) {
    info.shape = {size * 8 / bits_of(info.dtype)};
    info.notes.emplace_back("no shape in the header; read flat");
  }
  if (record.original_shape && !record.original_shape->empty()) {
    // An operator that computes on blocks or on a layout of its own has no other shape to tell.
    const bool says_nothing = !is_plain(info.layout) && *record.original_shape == info.shape;
    if (!element_count(*record.original_shape))
      info.notes.push_back("original shape " + to_string(*record.original_shape) + " ignored");
    else if (!says_nothing)
      info.logical_shape = std::move(record.original_shape);
  }

  const auto count = element_count(info.shape);
  const auto needed = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!needed) {
    info.error = damaged_shape(info);
  } else if (size < *needed) {
    info.error = Error{
        "dump record is smaller than its shape needs",
        fmt::format("byte {}: {}, {} {}, needs {} bytes, the record has {}", info.offset_bytes,
                    info.name, name_of(info.dtype), to_string(info.shape), *needed, size),
        "dump the operator again, or leave this tensor out"};
  } else if (size > *needed) {
    info.notes.push_back(
        has_shape || record.is_flat_without_shape
            ? fmt::format("{} bytes of padding ignored", size - *needed)
            : fmt::format("no shape in the header: one element read, {} bytes ignored",
                          size - *needed));
  }
  return info;
}

}  // namespace plumb::io
