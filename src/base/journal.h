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
#include <string>
#include <string_view>
#include <vector>

#include "plumb/result.h"

namespace plumb {

class Journal {
 public:
  // Made if it is not there. One process at a time (see directory_lock.h).
  static Result<Journal> open(const std::filesystem::path& path);
  Journal(Journal&& other) noexcept { *this = std::move(other); }
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // What was there when it was opened, as far as it is intact.
  const std::vector<std::string>& lines() const { return lines_; }
  uint64_t dropped_bytes() const { return dropped_bytes_; }  // damaged ones behind that

  // A line, which must not hold a line break. If it cannot be written whole it is not there.
  Result<void> add(std::string_view line);
  Result<void> sync();

 private:
  Journal() = default;
  Error failed(int code) const;

  std::filesystem::path path_;
  std::vector<std::string> lines_;
  uint64_t size_ = 0, dropped_bytes_ = 0;
  uint32_t crc_ = 0;
  int descriptor_ = -1;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace plumb
