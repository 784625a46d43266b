// SPDX-License-Identifier: Apache-2.0
//
// Writes standard Ascend dumps: the message that lists the tensors, then their bytes, each in the
// layout asked for.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "base/proto_wire.h"
#include "io/ascend_dump.h"
#include "io/ascend_message.h"
#include "io/ascend_record.h"
#include "io/reader.h"

namespace plumb::io {
namespace {

constexpr std::string_view kDumpVersion = "2.0";

struct Planned {
  const AscendItem* item;
  size_t kind;
  int64_t index;
  Shape stored;
  std::optional<IndexMap> map;  // nullopt: the elements are stored as they come
  int64_t size_bytes;
};

Result<std::pair<size_t, int64_t>> slot_of(std::string_view name) {
  if (name.empty()) return std::pair(size_t{kOutput}, int64_t{0});
  const size_t dot = name.rfind('.');
  for (size_t kind = 0; dot != std::string_view::npos && kind < kKindNames.size(); ++kind) {
    const auto index = number_from_text<int64_t>(name.substr(dot + 1));
    if (name.substr(0, dot) == kKindNames[kind] && index && *index >= 0)
      return std::pair(kind, *index);
  }
  return Error{"an Ascend dump has no place for a tensor of this name", fmt::format("'{}'", name),
               "name the tensors input.0, input.1, ... and output.0, ..., or write npz"};
}

Result<Planned> plan_item(const AscendItem& item) {
  auto slot = slot_of(item.tensor.name);
  if (!slot) return slot.error();
  Planned plan{&item, slot->first, slot->second, item.tensor.shape, {}, 0};
  const bool is_memory = plan.kind == kBuffer || plan.kind == kSpace;
  if (!is_memory && !writable_in_ascend_dump(item.tensor.dtype))
    return Error{"Ascend dumps have no such element type",
                 fmt::format("'{}' is {}", item.tensor.name, name_of(item.tensor.dtype)),
                 "convert the tensor first"};
  if (item.layout.number != kPlainLayout.number) {
    const int64_t c0 = item.c0 > 0 ? item.c0 : 32 * 8 / bits_of(item.tensor.dtype);
    auto stored = stored_as(item.layout, item.tensor.shape, item.axes, c0);
    if (!stored) return std::move(stored.error()).in(fmt::format("'{}'", item.tensor.name));
    plan.stored = std::move(stored->stored);
    plan.map = std::move(stored->map);
  }
  const auto count = element_count(plan.stored);
  const auto bytes = count ? byte_count(item.tensor.dtype, *count) : std::nullopt;
  if (!bytes)
    return Error{"tensor is impossibly large", "shape " + to_string(plan.stored), "split it"};
  plan.size_bytes = *bytes;
  return plan;
}

ProtoWriter record_message(const Planned& plan) {
  const RecordFields& fields = kRecordFields[plan.kind];
  ProtoWriter record;
  if (plan.kind == kBuffer || plan.kind == kSpace) {
    record.varint(fields.size, static_cast<uint64_t>(plan.size_bytes));
    return record;
  }
  ProtoWriter shape, original;
  shape.packed(1, plan.stored);
  original.packed(1, plan.item->tensor.shape);
  record.varint(fields.data_type, *header_number_of(plan.item->tensor.dtype));
  record.varint(fields.format, static_cast<uint64_t>(plan.item->layout.number));
  record.message(fields.shape, shape);
  record.varint(fields.size, static_cast<uint64_t>(plan.size_bytes));
  record.message(fields.original_shape, original);
  if (plan.item->layout.groups > 1)
    record.varint(fields.sub_format, static_cast<uint64_t>(plan.item->layout.groups));
  return record;
}

Result<void> write_payload(FileSink& out, const Planned& plan) {
  auto source = plan.item->tensor.open();
  if (!source) return source.error();
  const int64_t count = *element_count(plan.item->tensor.shape);
  if (source->dtype() != plan.item->tensor.dtype || source->count() != count)
    return Error{"tensor is not what it was announced to be",
                 fmt::format("'{}': {} elements of {}, announced {} of {}", plan.item->tensor.name,
                             source->count(), name_of(source->dtype()), count,
                             name_of(plan.item->tensor.dtype)),
                 "report this as a bug"};
  if (!plan.map)
    return for_each_piece(*source, [&](Bytes piece, int64_t, int64_t) { out.write(piece); });
  auto plain = source->read(0, count);
  if (!plain) return plain.error();
  std::vector<std::byte> stored(static_cast<size_t>(plan.size_bytes));
  scatter(*plan.map, static_cast<size_t>(bits_of(source->dtype()) / 8), plain->data(),
          stored.data());
  out.write(stored);
  return {};
}

}  // namespace

bool writable_in_ascend_dump(DType dtype) { return header_number_of(dtype).has_value(); }

Result<void> write_ascend_dump(FileSink& out, std::string_view op_name,
                               std::span<const AscendItem> items) {
  std::vector<Planned> plans;
  for (const AscendItem& item : items) {
    auto plan = plan_item(item);
    if (!plan) return plan.error();
    plans.push_back(std::move(*plan));
  }
  std::ranges::stable_sort(plans, {}, [](const Planned& p) { return std::pair(p.kind, p.index); });
  // A record has no number of its own, only its place among those of its kind.
  std::array<int64_t, kKindNames.size()> next{};
  for (const Planned& plan : plans)
    if (plan.index != next[plan.kind]++)
      return Error{"tensors of an Ascend dump must be numbered from 0 without gaps",
                   fmt::format("'{}'", plan.item->tensor.name),
                   "number them input.0, input.1, ..."};

  ProtoWriter header;
  header.text(1, kDumpVersion);
  for (uint32_t field = 3; field <= 8; ++field) {
    if (field == 6) header.text(6, op_name);
    for (const Planned& plan : plans)
      if (kKindFields[plan.kind] == field) header.message(field, record_message(plan));
  }
  const uint64_t length = header.bytes().size();
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(header.bytes());
  for (const Planned& plan : plans)
    if (auto written = write_payload(out, plan); !written) return written;
  return {};
}

}  // namespace plumb::io
