// SPDX-License-Identifier: Apache-2.0
//
// Tensor files of the Ascend Transformer Boost library: lines of text, name=value, up to `$End=1`,
// then the elements. Types are numbered as in the graph engine. Read by msprobe's ATB comparison.

#include <fmt/format.h>

#include "base/number_from_text.h"
#include "io/ascend_record.h"
#include "io/npy.h"
#include "io/reader.h"

namespace plumb::io {
namespace {

constexpr std::string_view kFirstLine = "$Version=";
constexpr std::string_view kEndKey = "$End";
constexpr size_t kMaxAtbHeaderBytes = 64 * 1024;
constexpr std::string_view kDumpTensorAgain = "dump the tensor again, or leave this file out";

struct AtbHeader {
  std::optional<int64_t> dtype;
  int64_t format = kPlainLayout.number;
  std::optional<Shape> dims;
  std::string version;
  size_t end = 0;  // where the elements start
};

std::optional<Shape> dims_from(std::string_view text) {
  if (text.ends_with(',')) text.remove_suffix(1);
  Shape dims;
  if (text.empty()) return dims;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const auto dim = number_from_text<int64_t>(text.substr(at, comma - at));
    if (!dim || *dim < 0) return std::nullopt;
    dims.push_back(*dim);
    at = comma + 1;
  }
  return dims;
}

Result<AtbHeader> read_atb_header(Bytes file) {
  const std::string_view text = as_text(file).substr(0, kMaxAtbHeaderBytes);
  const auto damaged = [](size_t at, std::string problem) {
    return Error{"ATB file header is damaged", fmt::format("byte {}: {}", at, problem),
                 std::string(kDumpTensorAgain)};
  };
  AtbHeader header;
  for (size_t at = 0;;) {
    const size_t newline = text.find('\n', at);
    if (newline == std::string_view::npos)
      return damaged(at, fmt::format("no line '{}=' in the first {} bytes", kEndKey, text.size()));
    std::string_view line = text.substr(at, newline - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.find('=', equals + 1) != std::string_view::npos)
      return damaged(at, "a line is not name=value");
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == kEndKey) {
      header.end = newline + 1;
      break;
    }
    if (name == "data")
      return Error{"ATB file keeps its data elsewhere", fmt::format("byte {}: data={}", at, value),
                   "read the file it names, with --dtype and --shape"};
    bool is_understood = true;
    if (name == "dtype") {
      header.dtype = number_from_text<int64_t>(value);
      is_understood = header.dtype.has_value();
    } else if (name == "format") {
      const auto format = number_from_text<int64_t>(value);
      is_understood = format.has_value();
      header.format = format.value_or(0);
    } else if (name == "dims") {
      header.dims = dims_from(value);
      is_understood = header.dims.has_value();
    } else if (name == "$Version") {
      header.version = value;
    }
    if (!is_understood) return damaged(at, fmt::format("{} is '{}'", name, value.substr(0, 64)));
    at = newline + 1;
  }
  if (!header.dtype || !header.dims)
    return damaged(header.end,
                   fmt::format("no line '{}=' before here", header.dtype ? "dims" : "dtype"));
  return header;
}

// Other writers need not start with the version, but every file has these lines.
bool probe_atb(Bytes head, uint64_t) {
  const std::string_view text = as_text(head);
  if (text.starts_with(kFirstLine)) return true;
  const auto header = read_atb_header(head);
  return header.ok();
}

Result<Listing> list_atb(Bytes file, const ReadHints&) {
  auto header = read_atb_header(file);
  if (!header) return header.error();
  AscendRecord record;
  record.type = graph_engine_type(*header->dtype);
  record.layout = layout_of(static_cast<uint64_t>(header->format), 0);
  record.shape = std::move(header->dims);
  record.offset_bytes = header->end;
  record.size_bytes = file.size() - header->end;
  TensorInfo info = tensor_from_record(std::move(record));
  const auto count = element_count(info.shape);
  const auto needed = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!needed || static_cast<uint64_t>(*needed) != info.size_bytes)
    return Error{"ATB file does not hold what its dims say",
                 fmt::format("byte {}: {} {} needs {} bytes, {} are there", info.offset_bytes,
                             dtype_text(info), to_string(info.shape),
                             needed ? std::to_string(*needed) : "more than 2^63", info.size_bytes),
                 std::string(kDumpTensorAgain)};
  Listing listing;
  if (!header->version.empty()) listing.properties.emplace_back("version", header->version);
  listing.tensors.push_back(std::move(info));
  return listing;
}

bool writable_in_atb(DType dtype) { return graph_engine_number_of(dtype).has_value(); }

Result<void> write_atb(FileSink& out, std::span<const WriteItem> items) {
  if (items.size() != 1)
    return Error{"an ATB file holds exactly one tensor",
                 fmt::format("{} were to be written", items.size()), "write one file each"};
  const WriteItem& item = items[0];
  const auto type = graph_engine_number_of(item.dtype);
  const auto count = element_count(item.shape);
  const auto bytes = count ? byte_count(item.dtype, *count) : std::nullopt;
  if (!type || !bytes)
    return Error{"tensor cannot be written as an ATB file",
                 fmt::format("{} {}", name_of(item.dtype), to_string(item.shape)),
                 "convert it to a plain number type first"};
  out.write(fmt::format(
      "{}1.0\n$Object.Count=1\n$Object.Length={}\n"
      "dtype={}\nformat={}\ndims={}\n$Object.data=0,{}\n{}=1\n",
      kFirstLine, *bytes, *type, kPlainLayout.number, join(item.shape, ","), *bytes, kEndKey));
  return write_elements(out, item);
}

}  // namespace

extern constexpr Format kAtb{
    "atb",           "tensor of the Ascend Transformer Boost library",
    probe_atb,       list_atb,
    nullptr,         write_atb,
    writable_in_atb,
};

}  // namespace plumb::io
