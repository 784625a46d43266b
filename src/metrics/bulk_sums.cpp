// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"
#include "metrics/resolution.h"

namespace plumb::metrics {
namespace {

constexpr size_t kBuckets = 2048;
constexpr int kShift = 20;  // leaves the exponent and three bits of the mantissa of a float

// How many of the largest |golden| the bulk leaves out: 1 %, rounded up; none of a handful.
int64_t left_out(int64_t count) { return count < 8 ? 0 : ceil_div(count, 100); }

// Float32 data that all fits a smaller type was widened from it. Zeros fit everything and so show
// nothing.
DType as_shown(DType dtype, bool all_zero, bool fits_half, bool fits_bfloat16) {
  if (all_zero || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) return dtype;
  if (fits_half) return DType::kFloat16;
  return fits_bfloat16 ? DType::kBFloat16 : dtype;
}

}  // namespace

BulkSums::BulkSums(const PairSums& first, DType target, DType golden)
    : buckets_(kBuckets), scale_(std::ldexp(1.0, -first.exponent)) {
  const Resolution resolution = resolution_of(coarser_of(
      as_shown(part_of(target), first.t_all_zero(), first.t_fits_half, first.t_fits_bfloat16),
      as_shown(part_of(golden), first.g_all_zero(), first.g_fits_half, first.g_fits_bfloat16)));
  const auto n = static_cast<double>(std::max<int64_t>(first.finite, 1));
  relative_ = resolution.relative;
  absolute_ = std::max(resolution.absolute * scale_, relative_ * std::sqrt(first.gg / n));
}

void BulkSums::add(const PairPiece& piece) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  // Copies: a store to a bucket might change a member, for all the compiler knows.
  Bucket* const buckets = buckets_.data();
  const double scale = scale_, relative = relative_, absolute = absolute_;
  for_each_block(piece, [=](const double* t, const double* g, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (!(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      const double size = std::fabs(g[i]) * scale, d = std::fabs(t[i] * scale - g[i] * scale);
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(std::min(size, kLargest)));
      Bucket& bucket = buckets[bits >> kShift];
      ++bucket.count;
      bucket.gg += size * size;
      bucket.dd += d > std::max(relative * size, absolute) ? d * d : 0;
    }
  });
}

void BulkSums::append(const BulkSums& later) {
  for (size_t i = 0; i < kBuckets; ++i) {
    buckets_[i].count += later.buckets_[i].count;
    buckets_[i].gg += later.buckets_[i].gg;
    buckets_[i].dd += later.buckets_[i].dd;
  }
}

double BulkSums::rel_euclid() const {
  int64_t count = 0;
  for (const Bucket& bucket : buckets_) count += bucket.count;
  int64_t left = count - left_out(count);
  double gg = 0, dd = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.count == 0) continue;
    const int64_t taken = std::min(left, bucket.count);
    const double share = static_cast<double>(taken) / static_cast<double>(bucket.count);
    gg += share * bucket.gg;
    dd += share * bucket.dd;
    left -= taken;
  }
  if (dd == 0) return 0;
  return gg > 0 ? std::sqrt(dd / gg) : std::numeric_limits<double>::infinity();
}

// The elements left out hold at most left_out * max(g^2) of golden's energy, the rest no more error
// than all of them.
std::optional<double> bulk_bound(const PairSums& sums) {
  if (equal_where_finite(sums)) return 0;
  const double largest =
      std::ldexp(std::max(std::fabs(sums.g_min), std::fabs(sums.g_max)), -sums.exponent);
  const double least = sums.gg - static_cast<double>(left_out(sums.finite)) * largest * largest;
  if (!(least > 0 && sums.dd <= 0.01 * least)) return std::nullopt;
  return std::sqrt(sums.dd / least);
}

}  // namespace plumb::metrics
