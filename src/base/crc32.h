// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 as zip, PNG and zlib have it, at the speed of memory.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace plumb {

// Of the bytes that `crc` covers and `more` behind them; 0 for none.
uint32_t crc32(uint32_t crc, Bytes more);

// The CRC-32 of bytes of which several threads have a part each.
class Checksum {
 public:
  void add(Bytes more);
  void append(const Checksum& later);  // of the bytes that follow
  uint32_t value() const { return crc_; }

 private:
  uint32_t crc_ = 0;
  int64_t size_ = 0;
};

}  // namespace plumb
