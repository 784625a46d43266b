// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 of the bytes of each side, in plain order: whether they are the same to the last bit.
#pragma once

#include "base/crc32.h"
#include "metrics/accumulator.h"

namespace plumb::metrics {

struct Checksums {
  static constexpr bool kTakesStored = true;
  Checksum target, golden;

  void add(const PairPiece& piece);
  void append(const Checksums& later);
};

extern const Accumulator kChecksums;

}  // namespace plumb::metrics
