// SPDX-License-Identifier: Apache-2.0
#include "io/zip.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "base/checked.h"
#include "base/crc32.h"
#include "io/format.h"
#include "io/inflate.h"

namespace plumb::io {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndRecord = 0x06054b50;
constexpr uint32_t kEnd64Record = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocatorBytes = 20;
constexpr size_t kLocalBytes = 30;
constexpr uint16_t kZip64Field = 0x0001;
constexpr uint16_t kAlignmentField = 0xd935;
constexpr uint64_t kAlignment = 64;
constexpr uint16_t kUtf8Flag = 1 << 11;
// Encrypted, patched, strongly encrypted, masked directory.
constexpr uint16_t kUnreadableFlags = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 13;

constexpr uint32_t kFull32 = 0xffffffff;  // "see the zip64 field"
constexpr uint16_t kFull16 = 0xffff;

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

// The end record is the last thing in the file, behind at most 64 KiB of comment that it counts.
std::optional<size_t> find_end(Bytes file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const size_t last = file.size() - kEndBytes;
  for (size_t comment = 0; comment <= std::min<size_t>(last, 0xffff); ++comment) {
    const std::byte* at = file.data() + last - comment;
    if (load_le<uint32_t>(at) == kEndRecord && load_le<uint16_t>(at + 20) == comment)
      return last - comment;
  }
  return std::nullopt;
}

// PyTorch writes the wide record always, and its numbers in the narrow one too where they fit.
template <class Narrow>
bool widen(Narrow narrow, uint64_t wide, uint64_t& value) {
  value = wide;
  return narrow == wide || narrow == static_cast<Narrow>(-1);
}

Result<Directory> find_directory(Bytes file) {
  const auto end = find_end(file);
  if (!end)
    return Error{"zip archive has no end record",
                 fmt::format("byte {}: the file ends without one", file.size()),
                 "copy the file again; it is truncated or no archive"};
  ByteReader reader(file.subspan(*end + 4));
  const uint16_t disk = reader.u16(), first_disk = reader.u16();
  const uint16_t here = reader.u16(), count = reader.u16();
  const uint32_t size = reader.u32(), offset = reader.u32();
  Directory directory{offset, size, count};
  bool several_disks = disk != 0 || first_disk != 0 || here != count;
  uint64_t directory_end = *end;

  if (*end >= kLocatorBytes &&
      load_le<uint32_t>(file.data() + *end - kLocatorBytes) == kEnd64Locator) {
    ByteReader locator(file.subspan(*end - kLocatorBytes + 4, kLocatorBytes - 4));
    locator.u32();
    const uint64_t at = locator.u64();
    directory_end = at;
    if (at > *end - kLocatorBytes || *end - kLocatorBytes - at < kEnd64Bytes ||
        load_le<uint32_t>(file.data() + at) != kEnd64Record)
      return damaged_file(
          "zip archive's zip64 end record is not where it should be",
          fmt::format("byte {}: expected at byte {}", *end - kLocatorBytes + 8, at));
    ByteReader wide(file.subspan(at + 16, kEnd64Bytes - 16));
    const uint32_t disk64 = wide.u32(), first_disk64 = wide.u32();
    const uint64_t here64 = wide.u64(), count64 = wide.u64();
    const uint64_t size64 = wide.u64(), offset64 = wide.u64();
    if (!widen(count, count64, directory.count) || !widen(size, size64, directory.size) ||
        !widen(offset, offset64, directory.offset))
      return damaged_file(
          "zip archive's two end records disagree",
          fmt::format("byte {}: {} members, byte {}: {} members", at, count64, *end, count));
    several_disks = disk64 != 0 || first_disk64 != 0 || here64 != count64;
  }

  if (several_disks)
    return Error{
        "zip archive is split over several files",
        fmt::format("byte {}: part {}, {} of {} members are here", *end, disk, here, count),
        "join the parts (zip -s 0 in.zip --out whole.zip)"};
  const auto stop = checked_add(directory.offset, directory.size);
  if (!stop || *stop != directory_end)
    return damaged_file("zip archive's directory is not where its end record says",
                        fmt::format("byte {}: {} bytes at byte {}, but it should end at byte {}",
                                    *end, directory.size, directory.offset, directory_end));
  return directory;
}

struct DirectoryEntry {
  ZipMember member;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t header = 0;  // where its local header lies
  uint64_t end = 0;     // where its data ends; 0 if that is not known
  uint64_t at = 0;      // where the directory tells of it
};

// Takes the numbers that did not fit 32 bits from the zip64 field, which holds just those.
bool read_zip64_field(Bytes extra, ZipMember& member, uint64_t& header) {
  uint64_t* const wanted[] = {&member.size_bytes, &member.packed_bytes, &header};
  if (std::none_of(std::begin(wanted), std::end(wanted), [](auto* n) { return *n == kFull32; }))
    return true;
  ByteReader fields(extra);
  while (fields.ok() && fields.left() >= 4) {
    const uint16_t id = fields.u16();
    ByteReader field(fields.take(fields.u16()));
    if (id != kZip64Field) continue;
    for (uint64_t* number : wanted)
      if (*number == kFull32) *number = field.u64();
    return fields.ok() && field.ok();
  }
  return false;
}

Result<std::vector<DirectoryEntry>> read_directory(Bytes file, const Directory& directory) {
  std::vector<DirectoryEntry> entries;
  ByteReader reader(file.subspan(directory.offset, directory.size));
  while (!reader.at_end()) {
    DirectoryEntry entry;
    entry.at = directory.offset + reader.position();
    ZipMember& member = entry.member;
    const uint32_t signature = reader.u32();
    reader.skip(4);  // versions
    entry.flags = reader.u16();
    entry.method = reader.u16();
    reader.skip(4);  // time
    member.crc32 = reader.u32();
    member.packed_bytes = reader.u32();
    member.size_bytes = reader.u32();
    const uint16_t name_bytes = reader.u16(), extra_bytes = reader.u16(),
                   comment_bytes = reader.u16();
    reader.skip(8);  // disk, attributes
    entry.header = reader.u32();
    member.name = as_text(reader.take(name_bytes));
    const Bytes extra = reader.take(extra_bytes);
    reader.skip(comment_bytes);
    if (!reader.ok() || signature != kCentralHeader)
      return damaged_file("zip archive's directory is damaged",
                          fmt::format("byte {}: entry {} of {} is cut off or no entry", entry.at,
                                      entries.size(), directory.count));
    if (!read_zip64_field(extra, member, entry.header))
      return damaged_file(
          "zip archive's directory is damaged",
          fmt::format("byte {}: entry {} lacks its 64-bit sizes", entry.at, entries.size()));
    entries.push_back(std::move(entry));
  }
  if (entries.size() != directory.count)
    return damaged_file("zip archive's directory has another length than promised",
                        fmt::format("byte {}: {} members, the end record says {}", directory.offset,
                                    entries.size(), directory.count));
  return entries;
}

void set_error(DirectoryEntry& entry, std::string what, std::string where, std::string remedy) {
  if (entry.member.error) return;
  entry.member.error = Error{
      std::move(what), fmt::format("member '{}', byte {}: {}", entry.member.name, entry.at, where),
      std::move(remedy)};
}

// Finds the data behind the local header; sets the error if there is none to be had.
void locate(Bytes file, const Directory& directory, DirectoryEntry& entry) {
  ZipMember& member = entry.member;
  ByteReader reader(file.first(directory.offset));
  reader.skip(entry.header);
  const uint32_t signature = reader.u32();
  reader.skip(22);
  const uint16_t name_bytes = reader.u16(), extra_bytes = reader.u16();
  const bool inside = reader.ok();
  const std::string_view name = as_text(reader.take(name_bytes));
  if (inside && (signature != kLocalHeader || name != member.name))
    return set_error(entry, "zip member is not where the directory says",
                     fmt::format("byte {} holds something else", entry.header), kCopyOrWriteAgain);
  reader.skip(extra_bytes);
  member.offset_bytes = reader.position();
  reader.skip(member.packed_bytes);
  if (!reader.ok())
    return set_error(entry, "zip member lies outside the archive",
                     fmt::format("{} bytes at byte {}, the directory starts at byte {}",
                                 member.packed_bytes, entry.header, directory.offset),
                     kCopyOrWriteAgain);
  entry.end = reader.position();
  if (name.find('\0') != name.npos)
    return set_error(entry, "zip member's name holds a zero byte",
                     fmt::format("name of {} bytes", name.size()), kCopyOrWriteAgain);
  if ((entry.flags & kUnreadableFlags) != 0)
    return set_error(entry, "zip member is encrypted", fmt::format("flags {:04x}", entry.flags),
                     "unpack the archive with its password and pack it again without one");
  if (entry.method != 0 && entry.method != 8)
    return set_error(entry, "zip member is compressed by an unknown method",
                     fmt::format("method {}", entry.method), "pack it again, stored or deflated");
  member.deflated = entry.method == 8;
  if (member.deflated ? member.size_bytes / 1032 > member.packed_bytes
                      : member.size_bytes != member.packed_bytes)
    return set_error(
        entry, "zip member's sizes are impossible",
        fmt::format("{} bytes packed, {} unpacked", member.packed_bytes, member.size_bytes),
        kCopyOrWriteAgain);
}

// Archives that unpack to more than they could hold let members share their bytes.
void refuse_overlaps(std::vector<DirectoryEntry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries[a].header < entries[b].header; });
  size_t furthest = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    DirectoryEntry &before = entries[order[furthest]], &entry = entries[order[i]];
    if (before.end > entry.header) {
      const std::string where = fmt::format("byte {} belongs to two members", entry.header);
      set_error(before, "zip members overlap", where, kCopyOrWriteAgain);
      set_error(entry, "zip members overlap", where, kCopyOrWriteAgain);
    }
    if (entry.end >= before.end) furthest = i;
  }
}

void refuse_same_names(std::vector<DirectoryEntry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries[a].member.name < entries[b].member.name; });
  for (size_t i = 1; i < order.size(); ++i) {
    DirectoryEntry &one = entries[order[i - 1]], &two = entries[order[i]];
    if (one.member.name != two.member.name) continue;
    for (DirectoryEntry* entry : {&one, &two})
      set_error(*entry, "zip archive holds two members of this name",
                fmt::format("again at byte {}", entry == &one ? two.at : one.at),
                "write the archive again with each name once");
  }
}

bool is_utf8(std::string_view text) {
  size_t more = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (more > 0 ? (byte & 0xc0) != 0x80 : (byte & 0xc0) == 0x80 || byte >= 0xf8) return false;
    more = more > 0 ? more - 1 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
  }
  return more == 0;
}

// Little-endian numbers, one after the other.
class RecordBytes {
 public:
  template <class T>
  RecordBytes& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  RecordBytes& u16(uint64_t value) { return put(static_cast<uint16_t>(value)); }
  RecordBytes& u32(uint64_t value) { return put(static_cast<uint32_t>(value)); }
  RecordBytes& u64(uint64_t value) { return put(value); }
  RecordBytes& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr uint16_t kZip64Version = 45;     // the first with zip64
constexpr uint16_t kPlainVersion = 20;     // the first with deflate
constexpr uint32_t kDate = 0x0021u << 16;  // 1980-01-01: the same tensors make the same file

uint16_t flags_of(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0; });
  return !ascii && is_utf8(name) ? kUtf8Flag : 0;
}

}  // namespace

Result<std::vector<ZipMember>> list_zip(Bytes file) {
  auto directory = find_directory(file);
  if (!directory) return directory.error();
  auto entries = read_directory(file, *directory);
  if (!entries) return entries.error();
  for (DirectoryEntry& entry : *entries) locate(file, *directory, entry);
  refuse_overlaps(*entries);
  refuse_same_names(*entries);
  std::vector<ZipMember> members;
  members.reserve(entries->size());
  for (DirectoryEntry& entry : *entries) members.push_back(std::move(entry.member));
  return members;
}

Result<Bytes> zip_member_data(Bytes file, const ZipMember& member, uint64_t max_growth,
                              Buffer& scratch) {
  if (member.error) return *member.error;
  Bytes data = file.subspan(member.offset_bytes, member.packed_bytes);
  const std::string where = fmt::format("member '{}'", member.name);
  if (member.deflated) {
    if (member.size_bytes / max_growth > member.packed_bytes)
      return damaged_file(
          "zip member unpacks to too much",
          fmt::format("{}: {} bytes from {}", where, member.size_bytes, member.packed_bytes));
    const auto size = static_cast<size_t>(member.size_bytes);
    std::byte* out = scratch.reserve(size + 1);
    if (auto got = Inflater(data).read(out, size); !got) return std::move(got.error()).in(where);
    data = {out, size};
  }
  const uint32_t crc = crc32(0, data);
  if (member.crc32 && crc != *member.crc32)
    return damaged_file(
        "checksum does not match",
        fmt::format("{}: CRC-32 is {:08x}, the archive says {:08x}", where, crc, *member.crc32));
  return data;
}

Result<void> ZipWriter::begin(std::string_view name) {
  end_member();
  if (name.size() > kFull16 || name.find('\0') != name.npos)
    return Error{"name does not fit into a zip archive",
                 fmt::format("'{}...' has {} bytes", name.substr(0, 40), name.size()),
                 "choose names without zero bytes, below 65536 bytes"};
  entries_.push_back({std::string(name), out_.position(), 0, 0, 0});
  out_.write(local_header(entries_.back()));
  if (packing_ == Packing::kDeflated)
    deflater_ = std::make_unique<Deflater>([this](Bytes packed) {
      entries_.back().packed += packed.size();
      out_.write(packed);
    });
  open_ = true;
  return {};
}

void ZipWriter::write(Bytes data) {
  if (data.empty()) return;
  Entry& entry = entries_.back();
  entry.size += data.size();
  entry.crc = crc32(entry.crc, data);
  if (deflater_) return deflater_->write(data);
  entry.packed += data.size();
  out_.write(data);
}

void ZipWriter::end_member() {
  if (!open_) return;
  open_ = false;
  if (deflater_) deflater_->finish();
  out_.write_at(entries_.back().header, as_bytes(local_header(entries_.back())));
}

// Size and checksum are not known when it is first written, so the size always has a zip64 field,
// as in numpy's archives. Padding goes into a field of its own. Programs that read documents may
// refuse such fields where they are not needed.
std::string ZipWriter::local_header(const Entry& entry) const {
  if (packing_ == Packing::kDeflated) {
    RecordBytes record;
    record.u32(kLocalHeader).u16(kPlainVersion).u16(flags_of(entry.name)).u16(method()).u32(kDate);
    record.u32(entry.crc).u32(static_cast<uint32_t>(entry.packed));
    record.u32(static_cast<uint32_t>(entry.size)).u16(entry.name.size()).u16(0).text(entry.name);
    return record.bytes();
  }
  const uint64_t unpadded = entry.header + kLocalBytes + entry.name.size() + 20 + 6;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  RecordBytes record;
  record.u32(kLocalHeader).u16(kZip64Version).u16(flags_of(entry.name)).u16(0).u32(kDate);
  record.u32(entry.crc).u32(kFull32).u32(kFull32);
  record.u16(entry.name.size()).u16(20 + 6 + padding).text(entry.name);
  record.u16(kZip64Field).u16(16).u64(entry.size).u64(entry.size);
  record.u16(kAlignmentField).u16(2 + padding).u16(kAlignment).text(std::string(padding, '\0'));
  return record.bytes();
}

void ZipWriter::finish() {
  end_member();
  const uint64_t start = out_.position();
  for (const Entry& entry : entries_) {
    RecordBytes wide;
    if (entry.size >= kFull32) wide.u64(entry.size).u64(entry.packed);
    if (entry.header >= kFull32) wide.u64(entry.header);
    const size_t extra = wide.bytes().empty() ? 0 : 4 + wide.bytes().size();
    const bool is_wide = entry.size >= kFull32;
    const uint16_t version = method() == 0 || extra > 0 ? kZip64Version : kPlainVersion;
    RecordBytes record;
    record.u32(kCentralHeader).u16(version).u16(version).u16(flags_of(entry.name)).u16(method());
    record.u32(kDate).u32(entry.crc).u32(is_wide ? kFull32 : entry.packed);
    record.u32(is_wide ? kFull32 : entry.size).u16(entry.name.size()).u16(extra).u16(0);
    record.u16(0).u16(0).u32(0).u32(std::min<uint64_t>(entry.header, kFull32)).text(entry.name);
    if (extra > 0) record.u16(kZip64Field).u16(wide.bytes().size()).text(wide.bytes());
    out_.write(record.bytes());
  }
  const uint64_t end = out_.position(), size = end - start, count = entries_.size();
  RecordBytes record;
  if (start >= kFull32 || size >= kFull32 || count >= kFull16) {
    record.u32(kEnd64Record)
        .u64(kEnd64Bytes - 12)
        .u16(kZip64Version)
        .u16(kZip64Version)
        .u32(0)
        .u32(0);
    record.u64(count).u64(count).u64(size).u64(start);
    record.u32(kEnd64Locator).u32(0).u64(end).u32(1);
  }
  const uint64_t narrow_count = std::min<uint64_t>(count, kFull16);
  record.u32(kEndRecord).u16(0).u16(0).u16(narrow_count).u16(narrow_count);
  record.u32(std::min<uint64_t>(size, kFull32)).u32(std::min<uint64_t>(start, kFull32)).u16(0);
  out_.write(record.bytes());
}

}  // namespace plumb::io
