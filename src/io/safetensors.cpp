// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: the length of a JSON header, the header, the tensors without gaps between
// them. Described in the README of the safetensors project. All rules given there are enforced.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "io/npy.h"
#include "io/reader.h"

namespace plumb::io {
namespace {

using Json = nlohmann::json;

constexpr size_t kHeaderLengthBytes = 8;
constexpr uint64_t kMaxJsonBytes = 100'000'000;
constexpr std::string_view kMetadataKey = "__metadata__";

struct TypeWord {
  std::string_view word;
  DType dtype;
  int bits;
};
constexpr TypeWord kTypeWords[] = {
    {"BOOL", DType::kBool, 8},
    {"U8", DType::kUint8, 8},
    {"I8", DType::kInt8, 8},
    {"U16", DType::kUint16, 16},
    {"I16", DType::kInt16, 16},
    {"U32", DType::kUint32, 32},
    {"I32", DType::kInt32, 32},
    {"U64", DType::kUint64, 64},
    {"I64", DType::kInt64, 64},
    {"F16", DType::kFloat16, 16},
    {"BF16", DType::kBFloat16, 16},
    {"F32", DType::kFloat32, 32},
    {"F64", DType::kFloat64, 64},
    {"F8_E4M3", DType::kFloat8E4M3Fn, 8},
    {"F8_E5M2", DType::kFloat8E5M2, 8},
    {"C64", DType::kComplex64, 64},
    {"F8_E8M0", DType::kOpaque, 8},
    {"F6_E2M3", DType::kOpaque, 6},
    {"F6_E3M2", DType::kOpaque, 6},
    {"F4", DType::kOpaque, 4},
};

const TypeWord* type_by_word(std::string_view word) {
  for (const TypeWord& type : kTypeWords)
    if (type.word == word) return &type;
  return nullptr;
}

const TypeWord* type_by_dtype(DType dtype) {
  for (const TypeWord& type : kTypeWords)
    if (type.dtype == dtype && dtype != DType::kOpaque) return &type;
  return nullptr;
}

struct HeaderEntry {
  std::string name;
  std::string dtype;
  Shape shape;
  std::vector<uint64_t> offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Takes the header as a stream of events: no tree is built, and whatever does not belong is refused
// where it stands, so that depth and memory stay bounded.
class HeaderReader : public Json::json_sax_t {
 public:
  std::vector<HeaderEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string problem;  // why reading stopped

  bool start_object(size_t) override {
    if (level_ == Level::kStart) return go(Level::kFile);
    if (level_ == Level::kFile && key_ == kMetadataKey) return go(Level::kMetadata);
    if (level_ != Level::kFile) return stop("an unexpected object");
    entries.emplace_back().name = std::move(key_);
    return go(Level::kTensor);
  }
  bool end_object() override {
    if (level_ == Level::kFile) return go(Level::kEnd);
    if (level_ == Level::kTensor) {
      const HeaderEntry& entry = entries.back();
      if (!entry.has_dtype || !entry.has_shape || !entry.has_offsets || entry.offsets.size() != 2)
        return stop(fmt::format("tensor '{}' lacks dtype, shape or two data_offsets", entry.name));
    }
    return go(Level::kFile);
  }
  bool key(string_t& text) override {
    key_ = std::move(text);
    return true;
  }
  bool start_array(size_t) override {
    if (level_ != Level::kTensor) return stop("an unexpected list");
    HeaderEntry& entry = entries.back();
    if (key_ == "shape" && !std::exchange(entry.has_shape, true)) return go(Level::kShape);
    if (key_ == "data_offsets" && !std::exchange(entry.has_offsets, true))
      return go(Level::kOffsets);
    return stop(fmt::format("an unexpected list '{}'", key_));
  }
  bool end_array() override { return go(Level::kTensor); }
  bool string(string_t& text) override {
    if (level_ == Level::kMetadata) {
      metadata.emplace_back(std::move(key_), std::move(text));
      return true;
    }
    if (level_ != Level::kTensor || key_ != "dtype" ||
        std::exchange(entries.back().has_dtype, true))
      return stop(fmt::format("an unexpected text '{}'", text.substr(0, 40)));
    entries.back().dtype = std::move(text);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (level_ == Level::kShape && value <= INT64_MAX) {
      entries.back().shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (level_ == Level::kOffsets && entries.back().offsets.size() < 2) {
      entries.back().offsets.push_back(value);
      return true;
    }
    return stop(fmt::format("an unexpected number {}", value));
  }
  bool null() override { return stop("an unexpected null"); }
  bool boolean(bool) override { return stop("an unexpected true or false"); }
  bool number_integer(number_integer_t value) override {
    return stop(fmt::format("an unexpected number {}", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return stop("an unexpected number " + text.substr(0, 40));
  }
  bool binary(binary_t&) override { return stop("binary data"); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    return stop(fmt::format("no valid JSON at byte {}", kHeaderLengthBytes + position));
  }

 private:
  enum class Level { kStart, kFile, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool go(Level level) {
    level_ = level;
    return true;
  }
  bool stop(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }

  Level level_ = Level::kStart;
  std::string key_;
};

// Checks what one entry says of itself. Its offsets count from `buffer`, the first byte of the
// data.
Result<TensorInfo> read_entry(HeaderEntry& entry, uint64_t buffer, uint64_t file_size) {
  const auto refuse = [&](std::string_view what, std::string where) {
    return damaged_file(
        fmt::format("safetensors entry {}", what),
        fmt::format("byte {}: tensor '{}': {}", kHeaderLengthBytes, entry.name, where));
  };
  const auto [begin, end] = std::pair(entry.offsets[0], entry.offsets[1]);
  if (begin > end) return refuse("ends before it begins", fmt::format("[{}, {}]", begin, end));
  const TypeWord* type = type_by_word(entry.dtype);
  const auto count = element_count(entry.shape);
  const auto bits = count ? checked_mul(*count, type != nullptr ? type->bits : 1) : std::nullopt;
  if (!bits) return refuse("is impossibly large", "shape " + to_string(entry.shape));
  const auto needed = static_cast<uint64_t>(ceil_div(*bits, 8));
  if (type != nullptr && needed != end - begin)
    return refuse("has the wrong size",
                  fmt::format("{} {} needs {} bytes, [{}, {}] are {}", entry.dtype,
                              to_string(entry.shape), needed, begin, end, end - begin));
  if (end > file_size - buffer)
    return Error{"safetensors file holds less data than its header promises",
                 fmt::format("byte {}: tensor '{}' ends at {}, {} bytes are there", buffer,
                             entry.name, end, file_size - buffer),
                 "copy or write the file again; it is truncated"};
  TensorInfo info;
  info.name = std::move(entry.name);
  info.shape = std::move(entry.shape);
  info.dtype = type != nullptr ? type->dtype : DType::kOpaque;
  info.offset_bytes = buffer + begin;
  info.size_bytes = end - begin;
  if (info.dtype == DType::kOpaque) {
    info.dtype_name = std::move(entry.dtype);
    if (static_cast<uint64_t>(*count) != info.size_bytes) {  // opaque tensors are counted in bytes
      info.notes.push_back("stored as " + to_string(info.shape));
      info.shape = {static_cast<int64_t>(info.size_bytes)};
    }
  }
  return info;
}

// The tensors must fill the buffer: no gaps, no overlaps, nothing left over.
Result<void> check_cover(const std::vector<TensorInfo>& tensors, uint64_t begin, uint64_t end) {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& info : tensors) order.push_back(&info);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->offset_bytes, a->size_bytes) < std::pair(b->offset_bytes, b->size_bytes);
  });
  uint64_t at = begin;
  for (const TensorInfo* info : order) {
    if (info->offset_bytes != at)
      return damaged_file(
          info->offset_bytes < at ? "safetensors entries overlap"
                                  : "safetensors file has a gap between tensors",
          fmt::format("byte {}: tensor '{}' starts here, the one before ends at byte {}",
                      info->offset_bytes, info->name, at));
    at += info->size_bytes;
  }
  if (at != end)
    return damaged_file("safetensors file has bytes that belong to no tensor",
                        fmt::format("byte {}: {} bytes", at, end - at));
  return {};
}

Result<void> check_names(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string_view> names;
  for (const TensorInfo& info : tensors) names.push_back(info.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return damaged_file("safetensors file holds two tensors of the same name",
                      fmt::format("byte {}: '{}'", kHeaderLengthBytes, *twice));
}

uint64_t header_size(Bytes head) { return load_le<uint64_t>(head.data()); }

bool probe_safetensors(Bytes head, uint64_t file_size) {
  if (head.size() < kHeaderLengthBytes + 2) return false;
  const uint64_t size = header_size(head);
  const std::string_view text = as_text(head.subspan(kHeaderLengthBytes));
  const size_t next = text.find_first_not_of(" \t\r\n", 1);
  return size >= 2 && size <= kMaxJsonBytes && size <= file_size - kHeaderLengthBytes &&
         text[0] == '{' && next != text.npos && (text[next] == '"' || text[next] == '}');
}

Result<Listing> list_safetensors(Bytes file, const ReadHints&) {
  if (file.size() < kHeaderLengthBytes)
    return damaged_file("safetensors file is cut off",
                        fmt::format("byte {}: no header", file.size()));
  const uint64_t size = header_size(file);
  if (size < 2 || size > kMaxJsonBytes || size > file.size() - kHeaderLengthBytes)
    return damaged_file("safetensors header is cut off or too long",
                        fmt::format("byte 0: header of {} bytes, {} are left", size,
                                    file.size() - kHeaderLengthBytes));
  const std::string_view text = as_text(file.subspan(kHeaderLengthBytes, size));
  HeaderReader header;
  const bool parsed = text[0] == '{' && Json::sax_parse(text.begin(), text.end(), &header);
  if (!parsed)
    return damaged_file("safetensors header is damaged",
                        fmt::format("byte {}: {}", kHeaderLengthBytes,
                                    header.problem.empty() ? "expected '{'" : header.problem));

  const uint64_t buffer = kHeaderLengthBytes + size;
  Listing listing;
  listing.properties = std::move(header.metadata);
  for (HeaderEntry& entry : header.entries) {
    auto info = read_entry(entry, buffer, file.size());
    if (!info) return info.error();
    listing.tensors.push_back(std::move(*info));
  }
  if (auto names = check_names(listing.tensors); !names) return names.error();
  if (auto cover = check_cover(listing.tensors, buffer, file.size()); !cover) return cover.error();
  return listing;
}

bool writable_in_safetensors(DType dtype) { return type_by_dtype(dtype) != nullptr; }

// The header of these items, data offsets in their order.
Result<std::string> make_header(std::span<const WriteItem* const> items) {
  std::string header = "{";
  std::vector<std::string> names;
  uint64_t at = 0;
  for (const WriteItem* item : items) {
    const TypeWord* type = type_by_dtype(item->dtype);
    if (type == nullptr)
      return Error{"safetensors has no such type",
                   fmt::format("tensor '{}' is {}", item->name, name_of(item->dtype)),
                   "write npz, or convert it first"};
    const auto count = element_count(item->shape);
    const auto bytes = count ? byte_count(item->dtype, *count) : std::nullopt;
    if (!bytes || item->name == kMetadataKey)
      return Error{"safetensors cannot hold this tensor",
                   fmt::format("'{}' {}", item->name, to_string(item->shape)), "rename it"};
    names.push_back(Json(item->name).dump(-1, ' ', false, Json::error_handler_t::replace));
    const uint64_t end = at + static_cast<uint64_t>(*bytes);
    header += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                          names.size() > 1 ? "," : "", names.back(), type->word,
                          join(item->shape, ","), at, end);
    at = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return Error{"two tensors of the same name", *twice, "rename one, or write separate files"};
  if (header.size() > kMaxJsonBytes)
    return Error{
        "too many tensors for one safetensors file",
        fmt::format("a header of {} bytes, at most {} are allowed", header.size(), kMaxJsonBytes),
        "write several files"};
  return header;
}

Result<void> write_safetensors(FileSink& out, std::span<const WriteItem> items) {
  // Largest elements first: without gaps, that is what keeps all tensors aligned.
  std::vector<const WriteItem*> order;
  for (const WriteItem& item : items) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const WriteItem* a, const WriteItem* b) {
    return bits_of(a->dtype) > bits_of(b->dtype);
  });
  auto header = make_header(order);
  if (!header) return header.error();
  const uint64_t size = header->size();
  out.write(Bytes(reinterpret_cast<const std::byte*>(&size), sizeof size));
  out.write(*header);
  for (const WriteItem* item : order)
    if (auto written = write_elements(out, *item); !written) return written.error();
  return {};
}

bool is_safetensors_name(std::string_view name) { return name.ends_with(".safetensors"); }

}  // namespace

extern constexpr Format kSafetensors{"safetensors",
                                     "named tensors without pickles, as model hubs use them",
                                     probe_safetensors,
                                     list_safetensors,
                                     nullptr,
                                     write_safetensors,
                                     writable_in_safetensors,
                                     is_safetensors_name};

}  // namespace plumb::io
