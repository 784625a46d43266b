// SPDX-License-Identifier: Apache-2.0
//
// Standard Ascend dumps: a u64 length, a protobuf message `DumpData` of that many bytes, then the
// bytes of every input, output, buffer and workspace in that order, without padding. The message is
// public as dump_data.proto in the CANN runtime and oam-tools repositories.
#include "io/ascend_dump.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/number_from_text.h"
#include "base/proto_wire.h"
#include "io/ascend_message.h"
#include "io/ascend_record.h"
#include "io/reader.h"

namespace plumb::io {
namespace {

std::string name_of_record(size_t kind, size_t index) {
  return fmt::format("{}.{}", kKindNames[kind], index);
}

template <class Use>  // bool use(kind, index, record), false to stop
bool for_each_record(DumpHeader& header, Use&& use) {
  for (size_t kind = 0; kind < header.records.size(); ++kind)
    for (size_t i = 0; i < header.records[kind].size(); ++i)
      if (!use(kind, i, header.records[kind][i])) return false;
  return true;
}

// The device leaves out tensors at address 0 but keeps their size in the header, so that everything
// after them is shifted. True if that, and nothing else, explains `missing` bytes.
bool are_skipped_records(DumpHeader& header, uint64_t missing, std::string& first) {
  uint64_t skipped = 0;
  bool has_addresses = false;
  for_each_record(header, [&](size_t kind, size_t i, const DumpRecord& record) {
    if (kind != kInput && kind != kOutput) return true;
    has_addresses |= record.address != 0;
    if (record.address != 0 || record.size == 0) return true;
    if (first.empty()) first = name_of_record(kind, i);
    skipped = checked_add(skipped, record.size).value_or(UINT64_MAX);
    return true;
  });
  return has_addresses && missing > 0 && skipped == missing;
}

// Finds each record's bytes. Records that carry data in the header use it if there is no payload
// for them; otherwise the payload is newer.
Result<void> place_records(DumpHeader& header, uint64_t file_size, Listing& listing) {
  uint64_t unclaimed = file_size - header.end;
  const bool fits = for_each_record(header, [&](size_t, size_t, const DumpRecord& record) {
    if (record.size > unclaimed) return false;
    unclaimed -= record.size;
    return true;
  });

  uint64_t at = header.end;
  uint64_t missing = 0;
  std::optional<Error> error;
  for_each_record(header, [&](size_t kind, size_t i, DumpRecord& record) {
    if (!record.data.empty() && (record.size == 0 || !fits)) {
      record.offset = record.data_at;
      record.size = record.data.size();
      return true;
    }
    if (!record.data.empty())
      listing.warnings.push_back(
          fmt::format("{}: {} bytes of data in the header ignored, the payload counts",
                      name_of_record(kind, i), record.data.size()));
    const uint64_t left = file_size - at;
    if (error || record.size > left) {
      missing = checked_add(missing, record.size - (error ? 0 : left)).value_or(UINT64_MAX);
      if (!error)
        error = Error{"dump holds less data than its header promises",
                      fmt::format("byte {}: {} needs {} bytes, {} are left", at,
                                  name_of_record(kind, i), record.size, left),
                      "copy the file from the device again, or leave this operator out"};
      return true;
    }
    record.offset = at;
    at += record.size;
    return true;
  });
  if (error) {
    if (std::string first; are_skipped_records(header, missing, first)) {
      error->where +=
          fmt::format("; the payload is {} bytes short, and {} has address 0", missing, first);
      error->remedy =
          "dump the operator again; the device leaves out tensors without an address, and what "
          "follows them cannot be trusted";
    }
    return *error;
  }
  if (at < file_size && !header.is_whole_file)
    listing.warnings.push_back(
        fmt::format("{} bytes after the last record ignored", file_size - at));
  return {};
}

// ---- FFTS+ slices ----

struct FoundSlices {
  std::optional<FftsSlices> slices;
  std::string where;  // byte and name of the attribute
};

// One of the attributes may describe them, whatever its name.
Result<FoundSlices> find_slices(const DumpHeader& header) {
  for (const DumpAttribute& attribute : header.attributes) {
    auto slices = ffts_slices_from_json(attribute.value);
    if (slices.ok() && !*slices) continue;
    FoundSlices found;
    found.where = fmt::format("byte {}: attribute '{}'", attribute.position, attribute.name);
    if (!slices) return std::move(slices.error()).in(found.where);
    found.slices = std::move(*slices);
    return found;
  }
  return FoundSlices{};
}

// Replaces the shapes of one kind of record by those of the thread's slices.
Result<void> apply_slices(const std::vector<std::vector<FftsSlices::Region>>& threads,
                          int64_t thread, size_t kind, std::vector<DumpRecord>& records) {
  if (records.empty()) return {};
  const auto index = static_cast<size_t>(thread);
  if (index >= threads.size() || threads[index].size() != records.size())
    return Error{"FFTS+ slice description does not fit the dump",
                 index >= threads.size()
                     ? fmt::format("thread {} is wanted, {} slices are described for {} threads",
                                   thread, kKindNames[kind], threads.size())
                     : fmt::format("thread {} has {} {} slices, the dump has {} {} records", thread,
                                   threads[index].size(), kKindNames[kind], records.size(),
                                   kKindNames[kind]),
                 "check that the file kept its name: the last but one field is the thread"};
  for (size_t i = 0; i < records.size(); ++i) {
    Shape shape;
    for (const FftsSlices::Range& range : threads[index][i])
      shape.push_back(range.higher - range.lower);
    records[i].shape = std::move(shape);
  }
  return {};
}

Result<void> apply_slices(const FftsSlices& slices, const ReadHints& hints, DumpHeader& header,
                          Listing& listing) {
  if (slices.automatic) {
    if (const auto thread = ffts_thread(hints.file_name)) {
      if (auto done = apply_slices(slices.inputs, *thread, kInput, header.records[kInput]); !done)
        return done;
      if (auto done = apply_slices(slices.outputs, *thread, kOutput, header.records[kOutput]);
          !done)
        return done;
    } else {
      listing.warnings.emplace_back(
          "FFTS+ slice: the file name does not tell its thread, shapes are the header's");
    }
  }
  // The original shape is the whole operator's. A manual slice may still be whole: then it fits.
  for (size_t kind : {kInput, kOutput})
    for (DumpRecord& record : header.records[kind]) {
      const Shape shape = record.shape.value_or(Shape{});
      if (slices.automatic || !record.original_shape ||
          !plain_map(layout_of(record.format, record.sub_format), shape, record.original_shape))
        record.whole_shape = std::exchange(record.original_shape, std::nullopt);
    }
  return {};
}

// ---- Format ----

// Wire types of the fields 1, 2, ... of each message; a record nests no deeper.
constexpr std::string_view kDumpWire = "202222222";
constexpr std::string_view kOutputWire = "002220200200";
constexpr std::string_view kInputWire = "00220200000";

// Walks what is visible of a message of `length` bytes. False if it cannot be one; otherwise
// `use(field, length)` has seen every field, the last one perhaps cut short.
template <class Use>
bool walk(Bytes visible, uint64_t length, std::string_view wire, Use&& use) {
  ProtoReader reader(visible);
  ProtoField field;
  const auto fits = [&](uint64_t field_length) {
    return (field.number > wire.size() ||
            wire[field.number - 1] - '0' == static_cast<char>(field.type)) &&
           use(field, field_length);
  };
  while (reader.next(field))
    if (!fits(field.bytes.size())) return false;
  if (reader.ok()) return true;
  if (reader.missing() == 0 || reader.missing() > length - visible.size()) return false;
  return field.bytes.empty() || fits(field.bytes.size() + reader.missing());
}

bool is_text(Bytes bytes, bool is_cut) {
  const std::string_view text = as_text(bytes);
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }) &&
         (is_cut || simdjson::validate_utf8(text.data(), text.size()));
}

// What a glance at a DumpData message shows.
struct Glance {
  bool is_possible = false;
  bool has_text = false;    // a version or operator name
  bool has_record = false;  // that says something
  bool has_data = false;    // inside the message
};

Glance glance(Bytes visible, uint64_t length) {
  Glance seen;
  seen.is_possible = walk(visible, length, kDumpWire, [&](const ProtoField& field, uint64_t size) {
    if (field.number == 1 || field.number == 6) {
      seen.has_text |= size > 0;
      return is_text(field.bytes, size > field.bytes.size());
    }
    if (field.number != 3 && field.number != 4) return true;
    seen.has_record |= size > 0;
    const bool is_output = field.number == 3;
    return walk(field.bytes, size, is_output ? kOutputWire : kInputWire,
                [&](const ProtoField& inner, uint64_t inner_size) {
                  seen.has_data |= inner.number == (is_output ? 5u : 4u) && inner_size > 0;
                  return true;
                });
  });
  return seen;
}

// There is no magic number: the length must be possible and the message must look like one. A file
// that was cut inside its header is still claimed, for the sake of the message it gets.
bool probe_ascend_dump(Bytes head, uint64_t file_size) {
  if (head.size() <= kDumpLengthBytes || is_nano_dump(head)) return false;
  const auto length = load_le<uint64_t>(head.data());
  if (length > 0 && length <= INT32_MAX) {
    const Bytes rest = head.subspan(kDumpLengthBytes);
    const Glance seen =
        glance(rest.first(static_cast<size_t>(std::min<uint64_t>(length, rest.size()))), length);
    if (seen.is_possible && (seen.has_text || seen.has_record)) return true;
  }
  const Glance whole = glance(head, file_size);
  return whole.is_possible && whole.has_data;
}

std::string original_op_text(const OriginalOp& op) {
  return fmt::format("{}:{}:{}", op.name, op.index, name_of(layout_of(op.format, 0)));
}

std::vector<std::pair<std::string, std::string>> properties_of(const DumpHeader& header) {
  std::vector<std::pair<std::string, std::string>> properties;
  const auto add = [&](std::string name, std::string value) {
    if (!value.empty()) properties.emplace_back(std::move(name), std::move(value));
  };
  add("version", std::string(header.version));
  if (header.dump_time != 0) add("dump_time", std::to_string(header.dump_time));
  add("op_name", std::string(header.op_name));
  add("dfx_message", std::string(header.dfx_message));
  for (size_t i = 0; i < header.records[kOutput].size(); ++i)
    if (const auto& op = header.records[kOutput][i].original_op)
      add(name_of_record(kOutput, i) + ".original_op", original_op_text(*op));
  for (size_t kind : {kInput, kOutput})
    for (size_t i = 0; i < header.records[kind].size(); ++i)
      if (const uint64_t address = header.records[kind][i].address; address != 0)
        add(name_of_record(kind, i) + ".address", std::to_string(address));
  for (size_t kind : {kInput, kOutput})
    for (size_t i = 0; i < header.records[kind].size(); ++i)
      if (const auto& whole = header.records[kind][i].whole_shape)
        add(name_of_record(kind, i) + ".whole_shape", join(*whole, "x"));
  for (const DumpAttribute& attribute : header.attributes)
    add(fmt::format("attr.{}", attribute.name), std::string(attribute.value));
  return properties;
}

TensorInfo tensor_of_record(size_t kind, size_t index, DumpRecord& record) {
  AscendRecord tensor;
  tensor.name = name_of_record(kind, index);
  tensor.offset_bytes = record.offset;
  tensor.size_bytes = record.size;
  if (kind == kInput || kind == kOutput) {
    tensor.type = ascend_type(record.data_type);
    tensor.layout = layout_of(record.format, record.sub_format);
    tensor.shape = std::move(record.shape);
    tensor.original_shape = std::move(record.original_shape);
  } else {
    tensor.type = {kind == kBuffer ? "buffer" : "workspace", DType::kOpaque, {}};
  }
  return tensor_from_record(std::move(tensor));
}

Result<Listing> list_ascend_dump(Bytes file, const ReadHints& hints) {
  auto header = read_dump_header(file);
  if (!header) return header.error();
  Listing listing;
  if (auto placed = place_records(*header, file.size(), listing); !placed) return placed.error();
  auto slices = find_slices(*header);
  if (!slices) return slices.error();
  if (slices->slices)
    if (auto applied = apply_slices(*slices->slices, hints, *header, listing); !applied)
      return std::move(applied.error()).in(slices->where);

  listing.properties = properties_of(*header);
  for_each_record(*header, [&](size_t kind, size_t i, DumpRecord& record) {
    listing.tensors.push_back(tensor_of_record(kind, i, record));
    return true;
  });
  if (listing.tensors.empty()) listing.warnings.emplace_back("the dump header lists no tensors");
  return listing;
}

Result<void> write_items_as_ascend_dump(FileSink& out, std::span<const WriteItem> items) {
  std::vector<AscendItem> plain;
  for (const WriteItem& item : items) plain.push_back({item});
  return write_ascend_dump(out, {}, plain);
}

}  // namespace

extern constexpr Format kAscendDump{
    "ascend-dump",
    "Ascend dump: protobuf header and raw tensors",
    probe_ascend_dump,
    list_ascend_dump,
    nullptr,
    write_items_as_ascend_dump,
    writable_in_ascend_dump,
    is_ascend_dump_name,
};

bool is_ascend_dump_name(std::string_view file_name) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= file_name.size();) {
    const size_t dot = std::min(file_name.find('.', at), file_name.size());
    fields.push_back(file_name.substr(at, dot - at));
    at = dot + 1;
  }
  const auto is_digits = [](std::string_view field) {
    return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
  };
  size_t numbers = 0;  // fields at the end that are numbers
  while (numbers < fields.size() && is_digits(fields[fields.size() - 1 - numbers])) ++numbers;
  // Behind the timestamp: nothing, or what FFTS+ adds (the device may be missing).
  for (size_t behind : {size_t{0}, size_t{3}, size_t{4}}) {
    if (numbers < behind + 2 || fields.size() < behind + 4) continue;
    if (fields[fields.size() - 1 - behind].size() >= 10)
      return !fields[0].empty() && !fields[1].empty();
  }
  return false;
}

Result<std::optional<FftsSlices>> ffts_slices(Bytes file) {
  if (is_nano_dump(file)) return std::optional<FftsSlices>();
  auto header = read_dump_header(file);
  if (!header) return header.error();
  auto found = find_slices(*header);
  if (!found) return found.error();
  return std::move(found->slices);
}

std::optional<int64_t> ffts_thread(std::string_view file_name) {
  const size_t last = file_name.rfind('.');
  if (last == std::string_view::npos || last == 0) return std::nullopt;
  const size_t before = file_name.rfind('.', last - 1);
  if (before == std::string_view::npos) return std::nullopt;
  const auto thread = number_from_text<int64_t>(file_name.substr(before + 1, last - before - 1));
  return thread && *thread >= 0 ? thread : std::nullopt;
}

}  // namespace plumb::io
