// SPDX-License-Identifier: Apache-2.0
#include "base/journal.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/number_from_text.h"

namespace plumb {
namespace {

constexpr size_t kSumChars = 8;  // "89abcdef line"
constexpr std::chrono::seconds kSyncInterval(2);

// The text of a line if its checksum holds, which goes on in `crc`.
std::optional<std::string_view> checked(std::string_view line, uint32_t& crc) {
  if (line.size() <= kSumChars || line[kSumChars] != ' ') return std::nullopt;
  const auto sum = number_from_text<uint32_t>(line.substr(0, kSumChars), 16);
  const std::string_view text = line.substr(kSumChars + 1);
  const uint32_t found = crc32(crc, as_bytes(text));
  if (found != sum) return std::nullopt;
  crc = found;
  return text;
}

// Nothing, or what a kill left of a first line.
bool may_be_first(std::string_view text) {
  const std::string_view sum = text.substr(0, kSumChars);
  return sum.find_first_not_of("0123456789abcdef") == sum.npos &&
         (text.size() <= kSumChars || text[kSumChars] == ' ');
}

}  // namespace

Result<Journal> Journal::open_locked(const std::filesystem::path& path) {
  Journal journal;
  journal.path_ = path;
  journal.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal.descriptor_ < 0) return journal.failed(errno);
  // Where there are no locks there is nobody to keep out either.
  if (::flock(journal.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error{"another process writes this journal", path.string(),
                 "wait until it has ended, or use another file"};
  return journal;
}

Result<uint64_t> Journal::read(const MappedFile& file, const Visit& visit) {
  constexpr uint64_t kReleased = 8 << 20;  // bytes
  const std::string_view text = as_text(file.bytes());
  uint64_t count = 0, released = 0;
  for (size_t end = 0; (end = text.find('\n', size_)) != text.npos; ++count) {
    const auto line = checked(text.substr(size_, end - size_), crc_);
    if (!line) break;
    if (auto visited = visit(*line, size_ + kSumChars + 1); !visited) return visited.error();
    size_ = end + 1;
    if (size_ - released < kReleased) continue;
    file.release(file.bytes().subspan(released, size_ - released));
    released = size_;
  }
  return count;
}

Result<void> Journal::drop_rest(uint64_t size) {
  dropped_bytes_ = size - size_;
  if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) return failed(errno);
  return {};
}

Result<Journal> Journal::open(const std::filesystem::path& path) {
  auto journal = open_locked(path);
  if (!journal) return journal;
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  const auto read = journal->read(*file, [&](std::string_view line, uint64_t) -> Result<void> {
    journal->lines_.emplace_back(line);
    return {};
  });
  if (!read) return read.error();
  if (auto dropped = journal->drop_rest(file->bytes().size()); !dropped) return dropped.error();
  return journal;
}

Result<Journal> Journal::open(const std::filesystem::path& path, const Visit& visit) {
  auto journal = open_locked(path);
  if (!journal) return journal;
  const auto file = MappedFile::open(path.string());
  if (!file) return file.error();
  const auto read = journal->read(*file, visit);
  if (!read) return std::move(read.error());
  const std::string_view rest = as_text(file->bytes()).substr(journal->size_);
  if (*read == 0 && !may_be_first(rest))
    return Error{"this is no journal", path.string() + ", byte 0", "name another file"};
  if (rest.find('\n') != rest.npos)
    return Error{"the journal is damaged",
                 fmt::format("{}, byte {}: line {} is not as it was written", path.string(),
                             journal->size_, *read + 1),
                 "delete it and start anew, or bring back a copy"};
  if (auto dropped = journal->drop_rest(file->bytes().size()); !dropped) return dropped.error();
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

uint64_t Journal::next_offset() const { return size_ + kSumChars + 1; }

Result<void> Journal::sync() {
  synced_ = std::chrono::steady_clock::now();
  if (::fdatasync(descriptor_) != 0) return failed(errno);
  return {};
}

}  // namespace plumb
