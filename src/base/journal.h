// SPDX-License-Identifier: Apache-2.0
//
// A file of lines that survives whoever writes it. Each line has a checksum over itself and all
// lines before it: what a kill, a full disk or a power cut left half written at the end is found
// and dropped, and a line that somebody changed ends what is believed. A line that `add` has
// accepted outlives the process; at most the last seconds are lost with the power.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "plumb/result.h"

namespace plumb {

class Journal {
 public:
  // Made if it is not there. One process at a time.
  static Result<Journal> open(const std::filesystem::path& path);
  // Told of each line and where it stands in the file; the first error ends it.
  using Visit = std::function<Result<void>(std::string_view line, uint64_t offset)>;
  // The same for journals that are large and that the user names: lines are not kept but visited,
  // only what a kill may have left, half a line at the end, is dropped, and a file that is
  // something else, or was damaged, is left as it is.
  static Result<Journal> open(const std::filesystem::path& path, const Visit& visit);
  Journal(Journal&& other) noexcept { *this = std::move(other); }
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // What was there when it was opened, as far as it is intact.
  const std::vector<std::string>& lines() const { return lines_; }
  uint64_t dropped_bytes() const { return dropped_bytes_; }  // damaged ones behind that

  // A line, which must not hold a line break. If it cannot be written whole it is not there.
  Result<void> add(std::string_view line);
  Result<void> sync();
  // Where the text of the next line will stand in the file, and the file, for reading.
  uint64_t next_offset() const;
  int descriptor() const { return descriptor_; }

 private:
  Journal() = default;
  static Result<Journal> open_locked(const std::filesystem::path& path);
  // Reads what is there as far as it is intact; the number of lines.
  Result<uint64_t> read(const MappedFile& file, const Visit& visit);
  Result<void> drop_rest(uint64_t size);
  Error failed(int code) const;

  std::filesystem::path path_;
  std::vector<std::string> lines_;
  uint64_t size_ = 0, dropped_bytes_ = 0;
  uint32_t crc_ = 0;
  int descriptor_ = -1;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace plumb
