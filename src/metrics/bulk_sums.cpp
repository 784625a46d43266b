// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/finish.h"
#include "metrics/resolution.h"

namespace plumb::metrics {
namespace {

// How many of the largest |golden| the bulk leaves out: 1 %, rounded up; none of a handful.
int64_t left_out(int64_t count) { return count < 8 ? 0 : ceil_div(count, 100); }

}  // namespace

BulkSums::BulkSums(const PairSums& first, DType target, DType golden) {
  for (auto& table : tables_) table.resize(kBulkBuckets + 1);
  const DType coarser =
      coarser_of(shown_target_dtype(target, first), shown_golden_dtype(golden, first));
  const Resolution resolution = resolution_of(coarser);
  const auto n = static_cast<double>(std::max<int64_t>(first.finite, 1));
  const double rms = std::sqrt(first.gg / n);
  scale_.scale = std::ldexp(1.0, -first.exponent);
  scale_.relative = resolution.relative;
  scale_.absolute = std::max(resolution.absolute * scale_.scale, resolution.relative * rms);
  // What sums of float32 leave behind is no number of its own; one step of an integer is none
  // either.
  const double step = kind_of(coarser) == DKind::kFloat ? resolution.absolute : 1;
  scale_.half_absolute = std::max(step * scale_.scale, 0x1p-21 * rms);
}

void BulkSums::add(const double* target, const double* golden, int64_t count) {
  BulkTables tables = {tables_[0].data(), tables_[1].data()};
  off_by_half_ += bulk_block(target, golden, count, scale_, tables);
}

void BulkSums::append(const BulkSums& later) {
  for (size_t table = 0; table < kBulkTables; ++table) {
    for (size_t i = 0; i < kBulkBuckets; ++i) {
      tables_[table][i].count += later.tables_[table][i].count;
      tables_[table][i].gg += later.tables_[table][i].gg;
      tables_[table][i].dd += later.tables_[table][i].dd;
    }
  }
  off_by_half_ += later.off_by_half_;
}

// Without the one of what is not finite.
std::vector<BulkBucket> BulkSums::summed() const {
  std::vector<BulkBucket> buckets(tables_[0].begin(), tables_[0].begin() + kBulkBuckets);
  for (size_t i = 0; i < kBulkBuckets; ++i) {
    buckets[i].count += tables_[1][i].count;
    buckets[i].gg += tables_[1][i].gg;
    buckets[i].dd += tables_[1][i].dd;
  }
  return buckets;
}

double BulkSums::rel_euclid() const {
  const std::vector<BulkBucket> buckets = summed();
  double total = 0;
  for (const BulkBucket& bucket : buckets) total += bucket.count;
  const auto count = static_cast<int64_t>(total);
  const auto bulk = static_cast<double>(count - left_out(count));
  double left = bulk, gg = 0, dd = 0;
  for (const BulkBucket& bucket : buckets) {
    if (bucket.count == 0) continue;
    const double taken = std::min(left, bucket.count);
    const double share = taken / bucket.count;
    gg += share * bucket.gg;
    dd += share * bucket.dd;
    left -= taken;
  }
  if (dd == 0) return 0;
  if (gg > 0) return std::sqrt(dd / gg);
  // Sparse: golden is zero all over the bulk. Then a value there is measured by the usual one of
  // the others.
  double all = 0;
  for (const BulkBucket& bucket : buckets) all += bucket.gg;
  const double others = total - buckets[0].count;
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

constinit const Accumulator kBulkSums{[](const PairFacts& first, bool exactly) {
  const bool is_bounded = !exactly && bulk_bound(first.sums) && off_bound(first.sums);
  return is_bounded ? nullptr
                    : accumulated(BulkSums(first.sums, first.target_dtype, first.golden_dtype));
}};

}  // namespace plumb::metrics
