// SPDX-License-Identifier: Apache-2.0
#include "io/crc32.h"

#include <libdeflate.h>

namespace plumb::io {

uint32_t crc32(uint32_t crc, Bytes more) {
  // libdeflate takes a null pointer as "start over", even in the middle.
  return more.empty() ? crc : libdeflate_crc32(crc, more.data(), more.size());
}

}  // namespace plumb::io
