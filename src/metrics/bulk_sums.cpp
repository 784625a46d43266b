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

}  // namespace

BulkSums::BulkSums(const PairSums& first, DType target, DType golden)
    : buckets_(kBuckets), scale_(std::ldexp(1.0, -first.exponent)) {
  const DType coarser =
      coarser_of(shown_target_dtype(target, first), shown_golden_dtype(golden, first));
  const Resolution resolution = resolution_of(coarser);
  const auto n = static_cast<double>(std::max<int64_t>(first.finite, 1));
  const double rms = std::sqrt(first.gg / n);
  relative_ = resolution.relative;
  absolute_ = std::max(resolution.absolute * scale_, relative_ * rms);
  // What sums of float32 leave behind is no number of its own; one step of an integer is none
  // either.
  const double step = kind_of(coarser) == DKind::kFloat ? resolution.absolute : 1;
  half_absolute_ = std::max(step * scale_, 0x1p-21 * rms);
}

void BulkSums::add(const PairPiece& piece) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  // Copies: a store to a bucket might change a member, for all the compiler knows.
  Bucket* const buckets = buckets_.data();
  const double scale = scale_, relative = relative_, absolute = absolute_;
  const double half_absolute = half_absolute_;
  int64_t off = 0;
  for_each_block(piece, [=, &off](const double* t, const double* g, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (!(std::isfinite(t[i]) && std::isfinite(g[i]))) continue;
      const double size = std::fabs(g[i]) * scale, d = std::fabs(t[i] * scale - g[i] * scale);
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(std::min(size, kLargest)));
      Bucket& bucket = buckets[bits >> kShift];
      ++bucket.count;
      bucket.gg += size * size;
      bucket.dd += d > std::max(relative * size, absolute) ? d * d : 0;
      off += size > 0 && d > size / 2 && d > half_absolute;
    }
  });
  off_by_half_ += off;
}

void BulkSums::append(const BulkSums& later) {
  for (size_t i = 0; i < kBuckets; ++i) {
    buckets_[i].count += later.buckets_[i].count;
    buckets_[i].gg += later.buckets_[i].gg;
    buckets_[i].dd += later.buckets_[i].dd;
  }
  off_by_half_ += later.off_by_half_;
}

double BulkSums::rel_euclid() const {
  int64_t count = 0;
  for (const Bucket& bucket : buckets_) count += bucket.count;
  int64_t left = count - left_out(count);
  double gg = 0, dd = 0;
  const auto bulk = static_cast<double>(left);
  for (const Bucket& bucket : buckets_) {
    if (bucket.count == 0) continue;
    const int64_t taken = std::min(left, bucket.count);
    const double share = static_cast<double>(taken) / static_cast<double>(bucket.count);
    gg += share * bucket.gg;
    dd += share * bucket.dd;
    left -= taken;
  }
  if (dd == 0) return 0;
  if (gg > 0) return std::sqrt(dd / gg);
  // Sparse: golden is zero all over the bulk. Then a value there is measured by the usual one of
  // the others.
  double all = 0;
  for (const Bucket& bucket : buckets_) all += bucket.gg;
  const auto others = static_cast<double>(count - buckets_[0].count);
  return all > 0 ? std::sqrt(dd / bulk) / std::sqrt(all / others)
                 : std::numeric_limits<double>::infinity();
}

// The elements left out hold at most left_out * max(g^2) of golden's energy, the rest no more error
// than all of them.
std::optional<double> bulk_bound(const PairSums& sums) {
  if (equal_where_finite(sums)) return 0;
  const double largest =
      std::ldexp(std::max(std::fabs(sums.g_min), std::fabs(sums.g_max)), -sums.exponent);
  const double least = sums.gg - static_cast<double>(left_out(sums.finite)) * largest * largest;
  // Half of the usual limit: what is closer to it than that is worth the exact number.
  if (!(least > 0 && sums.dd <= 0.05 * 0.05 * least)) return std::nullopt;
  return std::sqrt(sums.dd / least);
}

std::optional<double> off_bound(const PairSums& sums) {
  const int64_t others = sums.finite - sums.g_zeros;
  const double share =
      others == 0 ? 0 : static_cast<double>(sums.off_by_half) / static_cast<double>(others);
  return share <= 0.1 ? std::optional(share) : std::nullopt;  // half of the usual limit
}

}  // namespace plumb::metrics
