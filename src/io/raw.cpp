// SPDX-License-Identifier: Apache-2.0
//
// Headerless binary files: nothing but elements, little-endian, row-major. What they mean comes
// from the command line (--dtype, --shape), or a tool wrote it into the name: they are never
// guessed.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "io/npy.h"
#include "io/raw_name.h"
#include "tensor/dtype_words.h"

namespace plumb::io {
namespace {

bool probe_raw(Bytes, uint64_t) { return false; }

// "1_16_16_20", or one number.
std::optional<Shape> shape_from_name(std::string_view text) {
  Shape shape;
  while (true) {
    int64_t length = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, length);
    if (failure != std::errc() || length < 0 || shape.size() == kMaxAxes) return std::nullopt;
    shape.push_back(length);
    if (stop == end) return shape;
    if (*stop != '_') return std::nullopt;
    text.remove_prefix(static_cast<size_t>(stop - text.data()) + 1);
  }
}

// Types that numpy lacks are named as they were and written as the next larger one that it has.
DType type_by_size(const RawName& name, uint64_t file_bytes) {
  const auto count = element_count(name.shape);
  const bool is_widened = name.dtype == DType::kBFloat16 && count && *count > 0 &&
                          byte_count(DType::kFloat32, *count) == static_cast<int64_t>(file_bytes);
  return is_widened ? DType::kFloat32 : name.dtype;
}

bool owns_raw_name(std::string_view file_name) { return parse_raw_name(file_name).has_value(); }

Result<Listing> list_raw(Bytes file, const ReadHints& hints) {
  const auto name = hints.dtype ? std::nullopt : parse_raw_name(hints.file_name);
  if (!hints.dtype && !name)
    return Error{"raw data says nothing about itself", "byte 0", "give --dtype, and --shape"};
  TensorInfo info;
  info.dtype = hints.dtype ? *hints.dtype : type_by_size(*name, file.size());
  info.size_bytes = file.size();
  if (name) {
    info.shape = name->shape;
    info.layout = name->layout;
  } else if (hints.shape) {
    info.shape = *hints.shape;
  } else {
    info.shape = {
        static_cast<int64_t>(file.size() * 8 / static_cast<uint64_t>(bits_of(info.dtype)))};
  }
  const auto count = element_count(info.shape);
  const auto bytes = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) != file.size())
    return Error{name ? "file size does not match the type and shape in its name"
                      : "file size does not match the type and shape given",
                 fmt::format("byte 0: {} {} needs {} bytes, the file has {}", name_of(info.dtype),
                             to_string(info.shape),
                             bytes ? std::to_string(*bytes) : "more than 2^63", file.size()),
                 name ? kCopyOrWriteAgain : "correct --dtype or --shape"};
  return Listing{{std::move(info)}, {}, {}};
}

Result<void> write_raw(FileSink& out, std::span<const WriteItem> items) {
  if (items.size() != 1)
    return Error{"a raw file holds exactly one tensor",
                 fmt::format("{} were to be written", items.size()), "write one file each"};
  return write_elements(out, items[0]);
}

// Sub-byte types are unpacked on reading, so they are written as bytes.
bool writable_in_raw(DType dtype) { return info_of(dtype).unpacked == dtype; }

}  // namespace

std::optional<RawName> parse_raw_name(std::string_view file_name) {
  constexpr std::string_view kEnd = ".bin";
  if (!file_name.ends_with(kEnd)) return std::nullopt;
  file_name.remove_suffix(kEnd.size());
  const auto cut = [&] {
    const size_t dot = std::min(file_name.rfind('.'), file_name.size());
    const std::string_view last = file_name.substr(std::min(dot + 1, file_name.size()));
    file_name = file_name.substr(0, dot);
    return last;
  };
  const auto layout = layout_from_name(cut());
  const auto dtype = recorded_dtype(cut());
  const std::string_view size = cut();
  const auto shape = shape_from_name(size);
  if (!layout || !dtype || !shape || file_name.empty()) return std::nullopt;
  const bool is_flat = shape->size() == 1;
  if (is_flat && !is_plain(*layout)) return std::nullopt;
  return RawName{*dtype, *shape, is_flat ? kPlainLayout : *layout, is_flat};
}

extern constexpr Format kRaw{
    "raw",           "headerless binary, described by --dtype and --shape",
    probe_raw,       list_raw,
    nullptr,         write_raw,
    writable_in_raw, owns_raw_name,
};

}  // namespace plumb::io
