// SPDX-License-Identifier: Apache-2.0
//
// A gzipped npy file, as people pack dumps: one deflate stream with a checksum behind it, which is
// read as a deflated member of an archive is. Described by RFC 1952.
#include <fmt/format.h>

#include "io/archive_member.h"
#include "io/npy.h"

namespace plumb::io {
namespace {

constexpr size_t kTrailerBytes = 8;  // checksum and size of what was packed
constexpr const char* kPackAgain = "copy or pack the file again; it is damaged";

bool probe_gzip(Bytes head, uint64_t) {
  const std::string_view text = as_text(head);
  return text.starts_with("\x1f\x8b\x08") && text.size() > 10;
}

// Where the deflate stream begins; nothing if the header does not end.
std::optional<size_t> gzip_header_end(Bytes file) {
  enum Flag : uint8_t { kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16 };
  ByteReader reader(file);
  reader.skip(3);
  const uint8_t flags = reader.u8();
  reader.skip(6);
  if ((flags & kExtra) != 0) reader.skip(reader.u16());
  for (const Flag flag : {kName, kComment})
    if ((flags & flag) != 0)
      while (reader.ok() && reader.u8() != 0) {
      }
  if ((flags & kHeaderCrc) != 0) reader.skip(2);
  if (!reader.ok() || reader.left() < kTrailerBytes) return {};
  return reader.position();
}

Result<Listing> list_gzip(Bytes file, const ReadHints& hints) {
  const auto start = gzip_header_end(file);
  if (!start)
    return Error{"gzip file is cut off", fmt::format("byte 0: {} bytes in all", file.size()),
                 kPackAgain};
  ByteReader trailer(file.last(kTrailerBytes));
  ZipMember member;
  member.deflated = true;
  member.offset_bytes = *start;
  member.packed_bytes = file.size() - kTrailerBytes - *start;
  member.crc32 = trailer.u32();
  member.size_bytes = trailer.u32();  // of 4 GiB and more only the rest is told
  std::vector<std::byte> scratch;
  const auto head = member_head(file, member, scratch);
  if (!head) return head.error();
  if (is_npy(*head))
    if (const auto array = parse_npy_header(*head, hints)) {
      const uint64_t needed = array->offset_bytes + array->size_bytes;
      if (static_cast<uint32_t>(needed) == member.size_bytes) member.size_bytes = needed;
    }
  Listing listing;
  auto info = read_member(file, member, hints);
  if (!info) return info.error();
  if (*info) listing.tensors.push_back(std::move(**info));
  return listing;
}

}  // namespace

extern constexpr Format kGzip{
    "gzip",  "one NumPy array, packed with gzip (.npy.gz)", probe_gzip, list_gzip, nullptr, nullptr,
    nullptr,
};

}  // namespace plumb::io
