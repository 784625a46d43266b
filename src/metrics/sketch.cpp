// SPDX-License-Identifier: Apache-2.0
#include "metrics/sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "tensor/decode.h"

namespace plumb::metrics {
namespace {

constexpr uint32_t kMagic = 0x4b53'4c50;  // "PLSK"
constexpr uint32_t kVersion = 1;
constexpr int kBucketBits = 9;
static_assert(Sketch::kBuckets == size_t{1} << kBucketBits);

// sqrt(2 / (k p)) with 3 p^2 - 2 p^3 = 0.01.
constexpr double kSpread = 0.25754;
// Of one bucket, relative: float32 rounds to half of this, the sums before it to far less.
constexpr double kRounding = 0x1p-23;

// The finaliser of SplitMix64: all bits of the result depend on all bits of the index.
uint64_t mixed(uint64_t seed, uint64_t index) {
  uint64_t x = seed + (index + 1) * 0x9e37'79b9'7f4a'7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebULL;
  return x ^ (x >> 31);
}

size_t magnitude_of(double value) {
  const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
  constexpr int kLargest = static_cast<int>(Sketch::kMagnitudes) - 1;
  return static_cast<size_t>(std::clamp(exponent + 32, 0, kLargest));
}

template <class T>
void put(std::vector<std::byte>& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

double median(std::array<double, Sketch::kRows> values) {
  std::sort(values.begin(), values.end());
  return values[Sketch::kRows / 2];
}

// The squared length of a * x - b * y, both sketches scaled back. The rows' norms and what rounding
// may have done to them give a bound of their own for each row.
Bounded squared_difference(const Sketch& x, double a, const Sketch& y, double b) {
  std::array<double, Sketch::kRows> value, low, high;
  for (size_t row = 0; row < Sketch::kRows; ++row) {
    double difference = 0, norms = 0;
    for (size_t i = row * Sketch::kBuckets; i < (row + 1) * Sketch::kBuckets; ++i) {
      const double u = a * static_cast<double>(x.projection[i]);
      const double v = b * static_cast<double>(y.projection[i]);
      difference += (u - v) * (u - v);
      norms += u * u + v * v;
    }
    const double length = std::sqrt(difference), slack = kRounding * std::sqrt(2 * norms);
    const double shortest = std::max(0.0, length - slack), longest = length + slack;
    value[row] = difference;
    low[row] = shortest * shortest;
    high[row] = longest * longest;
  }
  return {median(value), median(low) / (1 + kSpread), median(high) / (1 - kSpread)};
}

}  // namespace

double Bounded::bound() const { return std::max(value - low, high - value); }

void Sketcher::add(DType dtype, const std::byte* data, int64_t count) {
  constexpr int64_t kPiece = 1024;
  double values[kPiece];
  const int64_t item = bits_of(dtype) / 8;
  for (int64_t first = 0; first < count; first += kPiece) {
    const int64_t n = std::min(kPiece, count - first);
    decode_double(dtype, data + first * item, n, values);
    for (int64_t i = 0; i < n; ++i) {
      const double value = values[i];
      if (!std::isfinite(value)) continue;
      ++magnitudes_[magnitude_of(value)];
      uint64_t hash = mixed(Sketch::kSeed, static_cast<uint64_t>(next_ + i));
      for (size_t row = 0; row < Sketch::kRows; ++row) {
        const size_t bucket = row * Sketch::kBuckets + (hash & (Sketch::kBuckets - 1));
        // The sign bit, flipped or not: a branch would be taken wrongly half of the time.
        const uint64_t sign = (hash >> kBucketBits & 1) << 63;
        sums_[bucket] += std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ sign);
        hash >>= kBucketBits + 1;
      }
    }
    next_ += n;
  }
}

Sketch Sketcher::finish(const TensorStats& stats, uint32_t crc32) const {
  Sketch s;
  s.count = stats.count;
  s.nan = stats.nan;
  s.positive_inf = stats.positive_inf;
  s.negative_inf = stats.negative_inf;
  s.zeros = stats.zeros;
  s.min = static_cast<double>(stats.min);
  s.max = static_cast<double>(stats.max);
  s.mean = stats.mean;
  s.std = stats.standard_deviation();
  s.l2 = stats.l2();
  s.crc32 = crc32;
  s.magnitudes = magnitudes_;
  if (!std::isfinite(s.l2) || s.l2 == 0) return s;
  for (size_t i = 0; i < sums_.size(); ++i) s.projection[i] = static_cast<float>(sums_[i] / s.l2);
  return s;
}

std::vector<std::byte> bytes_of(const Sketch& s) {
  std::vector<std::byte> out;
  out.reserve(kSketchBytes);
  put(out, kMagic);
  put(out, kVersion);
  put(out, s.seed);
  for (int64_t n : {s.count, s.nan, s.positive_inf, s.negative_inf, s.zeros}) put(out, n);
  for (double x : {s.min, s.max, s.mean, s.std, s.l2}) put(out, x);
  put(out, uint64_t{s.crc32});
  for (int64_t n : s.magnitudes) put(out, n);
  for (float x : s.projection) put(out, x);
  return out;
}

Result<Sketch> sketch_from_bytes(Bytes bytes) {
  const char* const again = "reduce the dump again with --keep-sketch";
  if (bytes.size() != kSketchBytes)
    return Error{"a sketch has the wrong size",
                 fmt::format("byte 0: {} bytes, a sketch has {}", bytes.size(), kSketchBytes),
                 again};
  ByteReader in(bytes);
  if (const uint32_t magic = in.u32(), version = in.u32(); magic != kMagic || version != kVersion)
    return Error{"not a sketch, or one of a later version",
                 fmt::format("byte 0: {:08x}, version {}", magic, version), again};
  Sketch s;
  s.seed = in.u64();
  for (int64_t* n : {&s.count, &s.nan, &s.positive_inf, &s.negative_inf, &s.zeros}) *n = in.i64();
  for (double* x : {&s.min, &s.max, &s.mean, &s.std, &s.l2}) *x = in.read<double>();
  s.crc32 = static_cast<uint32_t>(in.u64());
  for (int64_t& n : s.magnitudes) n = in.i64();
  for (float& x : s.projection) x = in.read<float>();
  const bool finite = std::all_of(s.projection.begin(), s.projection.end(),
                                  [](float x) { return std::isfinite(x); });
  int64_t left = s.count;  // elements of other kinds than those before
  bool adds_up = s.count >= 0;
  for (int64_t n : {s.nan, s.positive_inf, s.negative_inf, s.zeros}) {
    adds_up = adds_up && n >= 0 && n <= left;
    if (adds_up) left -= n;
  }
  if (!finite || !adds_up || !(s.l2 >= 0))
    return Error{"a sketch holds numbers that no tensor gives",
                 fmt::format("byte 16: {} elements, norm {}", s.count, s.l2), again};
  return s;
}

Estimate estimate(const Sketch& target, const Sketch& golden) {
  const auto undefined = [](const char* reason) { return Estimate{reason, {}, {}}; };
  if (target.seed != golden.seed) return undefined("the sketches have different seeds");
  if (target.count != golden.count) return undefined("the tensors have different sizes");
  for (const Sketch* s : {&target, &golden}) {
    if (s->nan + s->positive_inf + s->negative_inf > 0)
      return undefined("a tensor holds NaN or infinities");
    if (!std::isfinite(s->l2) || (s->l2 == 0 && s->zeros != s->count))
      return undefined("the norm of a tensor is not a double");
  }
  constexpr Bounded kOne{1, 1, 1}, kZero{0, 0, 0};
  if (target.l2 == 0 && golden.l2 == 0) return {nullptr, kOne, kZero};
  if (golden.l2 == 0) return undefined("golden is all zeros");
  if (target.l2 == 0) return undefined("target is all zeros");
  const double ratio = target.l2 / golden.l2;
  if (!std::isfinite(ratio)) return undefined("the norms are too far apart");

  Estimate e;
  const Bounded unit = squared_difference(target, 1, golden, 1);
  const auto cosine = [](double squared) { return std::clamp(1 - squared / 2, -1.0, 1.0); };
  e.cosine = {cosine(unit.value), cosine(unit.high), cosine(unit.low)};
  // In units of golden's norm, so that nothing overflows that need not.
  const Bounded apart = squared_difference(target, ratio, golden, 1);
  e.rel_euclid = {std::sqrt(apart.value), std::sqrt(apart.low), std::sqrt(apart.high)};
  return e;
}

}  // namespace plumb::metrics
