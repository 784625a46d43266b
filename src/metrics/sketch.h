// SPDX-License-Identifier: Apache-2.0
//
// A few kilobytes that stand for a tensor of any size: its statistics, a checksum, how large its
// values are, and a random projection. Two sketches tell how close their tensors were, with a bound
// that holds with a confidence of 99 %, whatever is in the tensors.
//
// The projection. Every element i is added, with a random sign, to one of k = 512 random buckets,
// in r = 3 independent rows; signs and buckets come from a hash of the seed and i, so that two
// sketches of one seed use the same ones. For the difference z of two vectors a row gives
//   N = sum over buckets of (bucket of one - bucket of the other)^2,
//   E N = |z|^2  and  Var N <= 2/k |z|^4  for every z (Charikar, Chen and Farach-Colton's
//   count-sketch; Thorup and Zhang for the variance).
// Chebyshev's inequality: one row is off by more than e |z|^2 with probability at most
// p = 2 / (k e^2). The median of three rows is off only if two rows are: at most 3 p^2 - 2 p^3,
// which is 1 % for e = 0.2576. So with m, the median,
//   m / (1 + e) <= |z|^2 <= m / (1 - e)   with a confidence of at least 99 %.
// The hash stands for truly random numbers in this; nobody who knows the seed should be able to
// choose the data.
//
// For unit vectors u and v, |u - v|^2 = 2 - 2 cosine: the sketch keeps the projection of the tensor
// divided by its norm, which it also keeps, so that 1 - cosine is known to a quarter of itself. The
// closer two tensors are, the sharper the estimate. The same on the tensors themselves gives the
// relative Euclidean distance. What is lost by keeping buckets as float32 is added to the bounds.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "metrics/tensor_stats.h"
#include "plumb/result.h"

namespace plumb::metrics {

struct Sketch {
  static constexpr size_t kRows = 3;
  static constexpr size_t kBuckets = 512;
  static constexpr uint64_t kSeed = 0x706c756d62'6c696eULL;
  // Finite values by size: below 2^-31 (and zero), then by powers of two, 2^31 and above.
  static constexpr size_t kMagnitudes = 64;

  uint64_t seed = kSeed;
  int64_t count = 0, nan = 0, positive_inf = 0, negative_inf = 0, zeros = 0;
  double min = 0, max = 0, mean = 0, std = 0, l2 = 0;  // over the finite values
  uint32_t crc32 = 0;                                  // of the elements in plain order
  std::array<int64_t, kMagnitudes> magnitudes = {};
  // Of the tensor over `l2`, NaN and infinities as zero; row by row. All zero if `l2` is zero or
  // not finite.
  std::array<float, kRows* kBuckets> projection = {};
};

// Gathers a sketch from consecutive pieces of a tensor, front to back. Real types only. The digits
// do not depend on how the tensor was cut.
class Sketcher {
 public:
  void add(DType dtype, const std::byte* data, int64_t count);
  Sketch finish(const TensorStats& stats, uint32_t crc32) const;

 private:
  int64_t next_ = 0;  // element
  std::array<int64_t, Sketch::kMagnitudes> magnitudes_ = {};
  std::array<double, Sketch::kRows* Sketch::kBuckets> sums_ = {};
};

// The bytes of a sketch, always kSketchBytes: magic, version, the fields in order, little-endian.
inline constexpr size_t kSketchBytes =
    8 + 8 + 5 * 8 + 5 * 8 + 8 + Sketch::kMagnitudes * 8 + Sketch::kRows * Sketch::kBuckets * 4;
static_assert(kSketchBytes <= 8192);
std::vector<std::byte> bytes_of(const Sketch& sketch);
Result<Sketch> sketch_from_bytes(Bytes bytes);

// A number that is known to lie between two bounds.
struct Bounded {
  double value = 0, low = 0, high = 0;
  double bound() const;  // the larger distance from `value`
};

inline constexpr double kSketchConfidence = 0.99;  // of each number on its own

struct Estimate {
  const char* undefined = nullptr;  // why there is none: a literal
  Bounded cosine;
  Bounded rel_euclid;  // |target - golden| / |golden|
};
Estimate estimate(const Sketch& target, const Sketch& golden);

}  // namespace plumb::metrics
