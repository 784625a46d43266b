// SPDX-License-Identifier: Apache-2.0
#include "io/archive_member.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/inflate.h"
#include "io/npy.h"

namespace plumb::io {

const Format* claimed_format(Bytes head) {
  for (const Format& format : formats())
    for (const std::string_view name :
         {"npy", "npz", "pt", "hdf5", "safetensors", "gzip", "tar", "text"})
      if (format.name == name && format.probe(head, head.size())) return &format;
  return nullptr;
}

Result<Bytes> member_head(Bytes file, const ZipMember& member, std::vector<std::byte>& scratch) {
  const Bytes packed = file.subspan(member.offset_bytes, member.packed_bytes);
  if (!member.deflated) return packed;
  Inflater inflater(packed);
  const auto unpack_to = [&](uint64_t end) -> Result<void> {
    const size_t start = scratch.size();
    scratch.resize(std::max(start, static_cast<size_t>(std::min(end, member.size_bytes))));
    return inflater.read(scratch.data() + start, scratch.size() - start);
  };
  if (auto start = unpack_to(kNpyPrefixBytes); !start) return start.error();
  const uint64_t wanted = is_npy(scratch) ? npy_header_end(scratch) : kProbeBytes;
  if (auto rest = unpack_to(wanted); !rest) return rest.error();
  return Bytes(scratch);
}

Result<std::optional<TensorInfo>> read_member(Bytes file, const ZipMember& member,
                                              const ReadHints& hints) {
  if (member.error) return *member.error;
  const std::string where = member.name.empty() ? fmt::format("byte {}", member.offset_bytes)
                                                : fmt::format("member '{}'", member.name);
  std::vector<std::byte> scratch;
  auto head = member_head(file, member, scratch);
  if (!head) return std::move(head.error()).in(where);
  if (!is_npy(*head) && !member.name.ends_with(kNpySuffix)) {
    const Format* other = claimed_format(head->first(std::min(head->size(), kProbeBytes)));
    if (other == nullptr) return std::optional<TensorInfo>();
    return Error{fmt::format("a file of format {} inside of another is not read", other->name),
                 where, "unpack the outer file"};
  }
  auto info = parse_npy_header(*head, hints);
  if (!info) return std::move(info.error()).in(where);

  const uint64_t header = info->offset_bytes, data = member.size_bytes - header;
  if (data < info->size_bytes)
    return Error{"archive member holds less data than its header promises",
                 fmt::format("{}, byte {}: {} {} needs {} bytes, {} are left", where, header,
                             dtype_text(*info), to_string(info->shape), info->size_bytes, data),
                 "copy or save the file again; it is damaged"};
  if (data > info->size_bytes)
    info->notes.push_back(fmt::format("{} bytes after the data ignored", data - info->size_bytes));
  info->crc32 = member.crc32;
  info->crc_size_bytes = member.size_bytes;
  info->offset_bytes = member.offset_bytes;
  if (member.deflated) {
    info->packing = Packing::kDeflated;
    info->size_bytes = member.packed_bytes;
    info->skip_bytes = header;
  } else {
    info->crc_offset_bytes = member.offset_bytes;
    info->offset_bytes += header;
  }
  return std::optional(std::move(*info));
}

}  // namespace plumb::io
