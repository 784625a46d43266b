// SPDX-License-Identifier: Apache-2.0
//
// Tar archives of npy files, read where they lie. Described by POSIX under `pax`; GNU tar writes
// long names and large sizes in its own way.

#include <fmt/format.h>

#include "base/checked.h"
#include "base/number_from_text.h"
#include "io/archive_member.h"

namespace plumb::io {
namespace {

constexpr size_t kBlock = 512, kNameBytes = 100, kSizeAt = 124, kSumAt = 148, kTypeAt = 156,
                 kMagicAt = 257, kPrefixAt = 345, kNamePrefixBytes = 155;
constexpr size_t kMaxMemberNameBytes = 4096;

std::string_view field(Bytes block, size_t at, size_t size) {
  const std::string_view text = as_text(block.subspan(at, size));
  return text.substr(0, text.find('\0'));
}

std::optional<uint64_t> octal(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  return number_from_text<uint64_t>(text, 8);
}

// Octal, or binary behind a byte of 0x80 as GNU tar writes what octal cannot hold.
std::optional<uint64_t> size_in(Bytes block) {
  const Bytes raw = block.subspan(kSizeAt, 12);
  if (raw[0] != std::byte{0x80}) return octal(field(block, kSizeAt, 12));
  uint64_t value = 0;
  for (const std::byte b : raw.last(8)) value = value << 8 | static_cast<uint64_t>(b);
  return value;
}

// The sum over a header's bytes, its own place counted as blanks.
bool is_header(Bytes block) {
  if (block.size() < kBlock || block[0] == std::byte{0}) return false;
  uint64_t sum = 8 * ' ';
  for (size_t i = 0; i < kBlock; ++i)
    if (i < kSumAt || i >= kSumAt + 8) sum += static_cast<uint64_t>(block[i]);
  return octal(field(block, kSumAt, 8)) == sum;
}

bool probe_tar(Bytes head, uint64_t) { return is_header(head) && size_in(head).has_value(); }

std::string name_in(Bytes block) {
  std::string name(field(block, 0, kNameBytes));
  const std::string_view prefix = field(block, kPrefixAt, kNamePrefixBytes);
  const bool is_posix = as_text(block.subspan(kMagicAt, 6)) == std::string_view("ustar\0", 6);
  return is_posix && !prefix.empty() ? fmt::format("{}/{}", prefix, name) : name;
}

// "27 path=a/b.npy\n" among the records of an extended header; empty if there is none.
std::string_view path_in(std::string_view records) {
  const size_t at = records.find(" path=");
  if (at == std::string_view::npos) return {};
  records.remove_prefix(at + 6);
  return records.substr(0, records.find('\n'));
}

Error damaged_tar(uint64_t at, std::string_view why) {
  return {"tar archive is damaged", fmt::format("byte {}: {}", at, why),
          "copy or pack the archive again"};
}

Result<Listing> list_tar(Bytes file, const ReadHints& hints) {
  Listing listing;
  std::string long_name;
  for (uint64_t at = 0; at < file.size();) {
    const Bytes block = file.subspan(at);
    if (block[0] == std::byte{0}) break;  // blocks of zeros end it
    if (!is_header(block)) return damaged_tar(at, "no header of a member");
    const auto size = size_in(block);
    const uint64_t data = at + kBlock;
    if (!size || *size > file.size() - data)
      return damaged_tar(at, "a member is longer than the rest of the file");
    const char type = static_cast<char>(block[kTypeAt]);
    const std::string_view content = as_text(file.subspan(data, *size));
    const uint64_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    at = padded > file.size() - data ? file.size() : data + padded;
    if (type == 'L')
      long_name = content.substr(0, std::min(content.find('\0'), kMaxMemberNameBytes));
    if (type == 'x') long_name = path_in(content).substr(0, kMaxMemberNameBytes);
    if (type != '0' && type != '\0' && type != '7') {
      if (type != 'L' && type != 'x' && type != 'K' && type != 'g') long_name.clear();
      continue;
    }
    const std::string name = long_name.empty() ? name_in(block) : long_name;
    long_name.clear();
    ZipMember member;
    member.name = name;
    member.offset_bytes = data;
    member.packed_bytes = member.size_bytes = *size;
    auto info = read_member(file, member, hints);
    if (info && !*info) continue;
    TensorInfo& tensor = listing.tensors.emplace_back();
    if (info) {
      tensor = std::move(**info);
    } else {
      tensor.error = std::move(info.error());
    }
    tensor.name =
        name.ends_with(kNpySuffix) ? name.substr(0, name.size() - kNpySuffix.size()) : name;
  }
  return listing;
}

}  // namespace

extern constexpr Format kTar{
    "tar", "archive of NumPy arrays", probe_tar, list_tar, nullptr, nullptr, nullptr,
};

}  // namespace plumb::io
