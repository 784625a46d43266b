// SPDX-License-Identifier: Apache-2.0
#include "metrics/checksums.h"

#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

Bytes bytes_of(const std::byte* data, DType dtype, int64_t count) {
  return {data, static_cast<size_t>(count * (bits_of(dtype) / 8))};
}

Value checksum(const PairFacts& facts, Checksum Checksums::*side) {
  const auto* found = facts.find<Checksums>();
  return found != nullptr ? Value::of((found->*side).value()) : Value::undefined(kNotComputed);
}

}  // namespace

void Checksums::add(const PairPiece& piece) {
  target.add(bytes_of(piece.target, piece.target_dtype, piece.count));
  golden.add(bytes_of(piece.golden, piece.golden_dtype, piece.count));
}

void Checksums::append(const Checksums& later) {
  target.append(later.target);
  golden.append(later.golden);
}

constinit const Accumulator kChecksums{
    [](const PairFacts&, bool) { return accumulated(Checksums()); }};

Value target_crc32(const PairFacts& facts) { return checksum(facts, &Checksums::target); }
Value golden_crc32(const PairFacts& facts) { return checksum(facts, &Checksums::golden); }

}  // namespace plumb::metrics
