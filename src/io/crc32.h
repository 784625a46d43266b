// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 as zip, PNG and zlib have it, at the speed of memory.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace plumb::io {

// Of the bytes that `crc` covers and `more` behind them; 0 for none.
uint32_t crc32(uint32_t crc, Bytes more);

}  // namespace plumb::io
