// SPDX-License-Identifier: Apache-2.0
//
// Headerless binary files: nothing but elements, little-endian, row-major. What they mean comes
// from the command line (--dtype, --shape), so they are never guessed.
#include <fmt/format.h>

#include "io/npy.h"

namespace plumb::io {
namespace {

bool probe_raw(Bytes, uint64_t) { return false; }

Result<Listing> list_raw(Bytes file, const ReadHints& hints) {
  if (!hints.dtype)
    return Error{"raw data says nothing about itself", "byte 0", "give --dtype, and --shape"};
  TensorInfo info;
  info.dtype = *hints.dtype;
  info.size_bytes = file.size();
  if (hints.shape) {
    info.shape = *hints.shape;
  } else {
    info.shape = {
        static_cast<int64_t>(file.size() * 8 / static_cast<uint64_t>(bits_of(info.dtype)))};
  }
  const auto count = element_count(info.shape);
  const auto bytes = count ? byte_count(info.dtype, *count) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) != file.size())
    return Error{"file size does not match the type and shape given",
                 fmt::format("byte 0: {} {} needs {} bytes, the file has {}", name_of(info.dtype),
                             to_string(info.shape),
                             bytes ? std::to_string(*bytes) : "more than 2^63", file.size()),
                 "correct --dtype or --shape"};
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

extern constexpr Format kRaw{
    "raw",           "headerless binary, described by --dtype and --shape",
    probe_raw,       list_raw,
    nullptr,         write_raw,
    writable_in_raw,
};

}  // namespace plumb::io
