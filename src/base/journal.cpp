// SPDX-License-Identifier: Apache-2.0
#include "base/journal.h"

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/mapped_file.h"

namespace plumb {
namespace {

constexpr size_t kSumChars = 8;  // "89abcdef line"
constexpr std::chrono::seconds kSyncInterval(2);

// The text of a line if its checksum holds, which goes on in `crc`.
std::optional<std::string_view> checked(std::string_view line, uint32_t& crc) {
  uint32_t sum = 0;
  if (line.size() <= kSumChars || line[kSumChars] != ' ') return std::nullopt;
  const auto read = std::from_chars(line.data(), line.data() + kSumChars, sum, 16);
  const std::string_view text = line.substr(kSumChars + 1);
  const uint32_t found = crc32(crc, as_bytes(text));
  if (read.ptr != line.data() + kSumChars || found != sum) return std::nullopt;
  crc = sum;
  return text;
}

}  // namespace

Result<Journal> Journal::open(const std::filesystem::path& path) {
  Journal journal;
  journal.path_ = path;
  journal.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal.descriptor_ < 0) return journal.failed(errno);
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  const std::string_view text = as_text(file->bytes());
  for (size_t end = 0; (end = text.find('\n', journal.size_)) != text.npos;) {
    const auto line = checked(text.substr(journal.size_, end - journal.size_), journal.crc_);
    if (!line) break;
    journal.lines_.emplace_back(*line);
    journal.size_ = end + 1;
  }
  journal.dropped_bytes_ = text.size() - journal.size_;
  if (::ftruncate(journal.descriptor_, static_cast<off_t>(journal.size_)) != 0)
    return journal.failed(errno);
  return journal;
}

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lines_, other.lines_);
  std::swap(size_, other.size_);
  std::swap(dropped_bytes_, other.dropped_bytes_);
  std::swap(crc_, other.crc_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(synced_, other.synced_);
  return *this;
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Error Journal::failed(int code) const {
  return {"the journal cannot be written", path_.string() + ": " + std::strerror(code),
          code == ENOSPC || code == EDQUOT || code == EFBIG
              ? "make room on the disk and run the command again: it goes on where it stopped"
              : "check the directory and its permissions"};
}

Result<void> Journal::add(std::string_view line) {
  assert(line.find('\n') == line.npos);
  const uint32_t crc = crc32(crc_, as_bytes(line));
  const std::string text = fmt::format("{:08x} {}\n", crc, line);
  for (size_t at = 0; at < text.size();) {
    const ssize_t written =
        ::pwrite(descriptor_, text.data() + at, text.size() - at, static_cast<off_t>(size_ + at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      (void)!::ftruncate(descriptor_, static_cast<off_t>(size_));  // else the next open does it
      return failed(code);
    }
    at += static_cast<size_t>(written);
  }
  size_ += text.size();
  crc_ = crc;
  return std::chrono::steady_clock::now() - synced_ < kSyncInterval ? Result<void>() : sync();
}

Result<void> Journal::sync() {
  synced_ = std::chrono::steady_clock::now();
  if (::fdatasync(descriptor_) != 0) return failed(errno);
  return {};
}

}  // namespace plumb
