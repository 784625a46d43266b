// SPDX-License-Identifier: Apache-2.0
#include "input/archive.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "input/gzip.h"
#include "io/inflate.h"
#include "io/zip.h"

namespace plumb::input {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;
constexpr size_t kMostUnpacked = size_t{1} << 30;
constexpr uint64_t kMostGrowth = 1024;  // of a member of a zip
using Block = std::array<std::byte, kBlock>;

class Hash {
 public:
  void add(Bytes bytes) {
    for (const std::byte b : bytes)
      value_ = (value_ ^ std::to_integer<uint64_t>(b)) * 0x100000001b3;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

// Blocks of a tar archive, unpacked on the way if need be.
class Blocks {
 public:
  // What is unpacked is kept, too, if somebody wants it.
  explicit Blocks(Bytes file, bool packed, std::vector<std::byte>* kept = nullptr)
      : file_(file), inflater_(packed ? file : Bytes()), kept_(kept) {
    packed_ = packed;
  }
  Result<void> read(Block& block) {
    if (packed_) {
      if (auto read = inflater_.read(block.data(), block.size()); !read) return read;
      if (kept_ == nullptr) return {};
      if (kept_->size() > kMostUnpacked)
        return Error{"the archive unpacks to more than is kept in memory",
                     fmt::format("byte {}: more than {} MiB", kept_->size(), kMostUnpacked >> 20),
                     "unpack it, and name the directory"};
      kept_->insert(kept_->end(), block.begin(), block.end());
      return {};
    }
    if (file_.size() - at_ < kBlock)
      return Error{"the archive is cut off",
                   fmt::format("byte {}: {} bytes are left of a block", at_, file_.size() - at_),
                   "copy it again"};
    std::copy_n(file_.begin() + static_cast<ptrdiff_t>(at_), kBlock, block.begin());
    at_ += kBlock;
    return {};
  }
  uint64_t position() const { return packed_ ? inflater_.position() : at_; }

 private:
  Bytes file_;
  io::Inflater inflater_;
  std::vector<std::byte>* kept_;
  bool packed_ = false;
  size_t at_ = 0;
};

std::string text_at(const Block& block, size_t at, size_t size) {
  const std::string_view field = as_text(Bytes(block).subspan(at, size));
  return std::string(field.substr(0, field.find('\0')));
}

// Octal digits, or, with the highest bit set, a big-endian number.
std::optional<uint64_t> size_in(const Block& block) {
  if ((block[124] & std::byte{0x80}) != std::byte{0}) {
    uint64_t value = 0;
    for (size_t i = 128; i < 136; ++i) value = value << 8 | std::to_integer<uint64_t>(block[i]);
    return value;
  }
  uint64_t value = 0;
  for (size_t i = 124; i < 136; ++i) {
    const char c = static_cast<char>(block[i]);
    if (c == '\0' || c == ' ') continue;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool is_tar(const Block& block) { return text_at(block, 257, 5) == "ustar"; }

Result<std::vector<ArchiveEntry>> list_tar(Blocks blocks) {
  std::vector<ArchiveEntry> entries;
  while (true) {
    Block header;
    if (auto read = blocks.read(header); !read) return read.error();
    if (std::all_of(header.begin(), header.end(), [](std::byte b) { return b == std::byte{0}; }))
      return entries;
    const auto size = size_in(header);
    if (!size || !is_tar(header))
      return Error{"the archive is damaged",
                   fmt::format("byte {}: no header of a file", blocks.position() - kBlock),
                   "pack it again"};
    const char kind = static_cast<char>(header[156]);
    const std::string prefix = text_at(header, 345, 155);
    ArchiveEntry entry{(prefix.empty() ? "" : prefix + "/") + text_at(header, 0, 100), *size, 0,
                       blocks.position()};
    Hash hash;
    for (uint64_t left = *size; left > 0;) {
      Block data;
      if (auto read = blocks.read(data); !read) return read.error();
      const size_t used = static_cast<size_t>(std::min<uint64_t>(left, kBlock));
      hash.add(Bytes(data).first(used));
      left -= used;
    }
    entry.hash = hash.value();
    if (kind == '0' || kind == '\0') entries.push_back(std::move(entry));
  }
}

Result<std::vector<ArchiveEntry>> list_zip_file(Bytes file) {
  auto members = io::list_zip(file);
  if (!members) return members.error();
  std::vector<ArchiveEntry> entries;
  for (const io::ZipMember& member : *members) {
    if (member.error) return *member.error;
    if (!member.name.ends_with('/'))
      entries.push_back({std::string(member.name), member.size_bytes, member.crc32.value_or(0), 0});
  }
  return entries;
}

Result<std::vector<ArchiveEntry>> list_directory(const fs::path& directory) {
  std::vector<ArchiveEntry> entries;
  std::error_code code;
  for (fs::recursive_directory_iterator at(directory, code), end; !code && at != end;
       at.increment(code)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    auto file = MappedFile::open(at->path().string());
    if (!file) return file.error();
    Hash hash;
    hash.add(file->bytes());
    entries.push_back(
        {at->path().lexically_relative(directory).string(), file->bytes().size(), hash.value(), 0});
  }
  if (code) return Error{"the directory cannot be read", code.message(), "check its permissions"};
  std::sort(entries.begin(), entries.end(),
            [](const ArchiveEntry& a, const ArchiveEntry& b) { return a.name < b.name; });
  return entries;
}

Result<UnnamedFile> file_of(Bytes bytes) {
  auto file = UnnamedFile::in_memory();
  if (!file) return file.error();
  if (auto written = file->append(bytes); !written) return written.error();
  return file;
}

class TarArchive : public Archive {
 public:
  static Result<std::shared_ptr<const Archive>> open(MappedFile file) {
    auto made = std::make_shared<TarArchive>();
    made->file_ = std::move(file);
    made->tar_ = made->file_.bytes();
    const bool is_packed = is_gzip(made->tar_);
    if (is_packed) {
      auto stream = gzip_stream(made->tar_);
      if (!stream) return stream.error();
      made->tar_ = *stream;
    }
    auto entries = list_tar(Blocks(made->tar_, is_packed, &made->kept_));
    if (!entries) return entries.error();
    if (is_packed) made->tar_ = made->kept_;
    made->entries_ = std::move(*entries);
    return std::shared_ptr<const Archive>(std::move(made));
  }
  // Where its data are was checked when they were listed.
  Result<UnnamedFile> unpacked(size_t entry) const override {
    return file_of(tar_.subspan(static_cast<size_t>(entries_[entry].offset_bytes),
                                static_cast<size_t>(entries_[entry].size_bytes)));
  }

 private:
  MappedFile file_;
  std::vector<std::byte> kept_;
  Bytes tar_;
};

class ZipArchive : public Archive {
 public:
  static Result<std::shared_ptr<const Archive>> open(MappedFile file) {
    auto made = std::make_shared<ZipArchive>();
    made->file_ = std::move(file);
    auto members = io::list_zip(made->file_.bytes());
    if (!members) return members.error();
    for (io::ZipMember& member : *members) {
      if (member.name.ends_with('/')) continue;
      made->entries_.push_back(
          {std::string(member.name), member.size_bytes, member.crc32.value_or(0), 0});
      made->members_.push_back(std::move(member));
    }
    return std::shared_ptr<const Archive>(std::move(made));
  }
  Result<UnnamedFile> unpacked(size_t entry) const override {
    const io::ZipMember& member = members_[entry];
    if (member.error) return *member.error;
    Buffer scratch;
    auto data = io::zip_member_data(file_.bytes(), member, kMostGrowth, scratch);
    if (!data) return data.error();
    return file_of(*data);
  }

 private:
  MappedFile file_;
  std::vector<io::ZipMember> members_;
};

bool is_tar_head(Bytes file) {
  Block first{};
  if (is_gzip(file)) {
    auto stream = gzip_stream(file);
    if (!stream || !io::Inflater(*stream).read(first.data(), first.size())) return false;
  } else {
    std::copy_n(file.begin(), std::min(file.size(), kBlock), first.begin());
  }
  return is_tar(first);
}

}  // namespace

Result<std::vector<ArchiveEntry>> list_archive(Bytes file) {
  if (as_text(file).starts_with("PK")) return list_zip_file(file);
  if (is_gzip(file)) {
    auto stream = gzip_stream(file);
    if (!stream) return stream.error();
    return list_tar(Blocks(*stream, true));
  }
  Block first{};
  std::copy_n(file.begin(), std::min(file.size(), kBlock), first.begin());
  if (is_tar(first)) return list_tar(Blocks(file, false));
  return Error{"not an archive of a known kind", "byte 0", "use tar, tar.gz, zip or a directory"};
}

Result<std::vector<ArchiveEntry>> list_archive(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    auto entries = list_directory(path);
    if (!entries) return std::move(entries.error()).in(path);
    return entries;
  }
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto entries = list_archive(file->bytes());
  if (!entries) return std::move(entries.error()).in(path);
  return entries;
}

Result<std::shared_ptr<const Archive>> Archive::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file) return file.error();
  const bool is_zip = as_text(file->bytes()).starts_with("PK");
  auto archive = is_zip ? ZipArchive::open(std::move(*file)) : TarArchive::open(std::move(*file));
  if (!archive) return std::move(archive.error()).in(path);
  return archive;
}

bool is_archive(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return false;
  if (as_text(file->bytes()).starts_with("PK\x03\x04")) return !path.ends_with(".npz");
  return is_tar_head(file->bytes());
}

}  // namespace plumb::input
