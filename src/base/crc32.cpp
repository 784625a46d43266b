// SPDX-License-Identifier: Apache-2.0
#include "base/crc32.h"

#include <libdeflate.h>
#include <zlib.h>

namespace plumb {

uint32_t crc32(uint32_t crc, Bytes more) {
  // libdeflate takes a null pointer as "start over", even in the middle.
  return more.empty() ? crc : libdeflate_crc32(crc, more.data(), more.size());
}

void Checksum::add(Bytes more) {
  crc_ = crc32(crc_, more);
  size_ += std::ssize(more);
}

void Checksum::append(const Checksum& later) {
  crc_ = static_cast<uint32_t>(::crc32_combine(crc_, later.crc_, later.size_));
  size_ += later.size_;
}

}  // namespace plumb
