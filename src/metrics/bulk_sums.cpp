// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/bulk_candidates.h"
#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

// Sums without a part of them keep more than half of their digits.
bool is_left(double rest, double sum) { return rest >= 0x1p-20 * sum; }

void add_to(BulkBucket& sum, const BulkBucket& terms) {
  sum.count += terms.count;
  sum.gg += terms.gg;
  sum.dd += terms.dd;
}

}  // namespace

BulkSums::BulkSums(const PairSums& first, DType target, DType golden, bool sorts_all)
    : first_{static_cast<double>(first.finite),
             first.gg,
             first.dd,
             first.finite - (first.equal - first.same_nan - first.same_inf),
             first.off_by_half,
             bulk_bucket(std::max(std::fabs(first.g_min), std::fabs(first.g_max))),
             first.exponent != 0 || !fits_float(part_of(target)) || !fits_float(part_of(golden))},
      must_sort_all_(sorts_all),
      scale_(bulk_scale(first, target, golden)) {
  restart();
}

void BulkSums::restart() {
  first_bucket_ = -1;
  exceptions_ = {};
  off_by_half_ = 0;
  for (auto& table : tables_) table.assign(kBulkBuckets + 1, {});
}

void BulkSums::expect(std::span<const double> golden) {
  if (must_sort_all_ || first_.is_wide) return;
  const auto end = expected_end_of_bulk(golden, first_.count);
  if (!end) return;
  const uint32_t first_bucket = std::min(*end, first_.largest);
  first_bucket_ = static_cast<int>(first_bucket);
  filter_ = bulk_filter(scale_, first_bucket);
  tables_[0].assign(first_.largest + 1 - first_bucket, {});
  tables_[1] = {};
}

void BulkSums::add(const PairPiece& piece) {
  if (sorts_all()) {
    BulkTables tables = {tables_[0].data(), tables_[1].data()};
    return for_each_block(piece, [&](const double* t, const double* g, int64_t n) {
      off_by_half_ += bulk_block(t, g, n, scale_, tables);
    });
  }
  for_each_float_block(piece, [&](const float* t, const float* g, int64_t n) {
    BulkRoom room;
    const int64_t found = bulk_exceptions(t, g, n, filter_, room);
    add_exceptions(room.target, room.golden, found, scale_, filter_.from,
                   static_cast<uint32_t>(first_bucket_), tables_[0].data(), exceptions_);
  });
}

bool BulkSums::settle(std::span<const BulkCandidates> chunks) {
  if (sorts_all() || !std::all_of(chunks.begin(), chunks.end(),
                                  [&](const BulkCandidates& each) { return each.hold(filter_); }))
    return false;
  const BulkSums fresh = *this;
  for (const BulkCandidates& chunk : chunks) {
    // Those that do not pass the filter add nothing.
    BulkSums part = fresh;
    add_exceptions(chunk.target().data(), chunk.golden().data(), std::ssize(chunk.target()), scale_,
                   filter_.from, static_cast<uint32_t>(first_bucket_), part.tables_[0].data(),
                   part.exceptions_);
    append(part);
  }
  if (is_settled()) return true;
  restart();
  return false;
}

void BulkSums::append(const BulkSums& later) {
  for (size_t table = 0; table < kBulkTables; ++table)
    for (size_t i = 0; i < tables_[table].size(); ++i)
      add_to(tables_[table][i], later.tables_[table][i]);
  exceptions_.ignored += later.exceptions_.ignored;
  exceptions_.differing += later.exceptions_.differing;
  exceptions_.not_off += later.exceptions_.not_off;
  off_by_half_ += later.off_by_half_;
}

// What was not sorted.
BulkBucket BulkSums::below() const {
  BulkBucket sorted;
  for (const BulkBucket& bucket : tables_[0]) add_to(sorted, bucket);
  BulkBucket below;
  below.count = first_.count - sorted.count;
  below.gg = first_bucket_ == 0 ? 0 : first_.gg - sorted.gg;
  below.dd =
      exceptions_.differing == first_.differing ? 0 : first_.dd - exceptions_.ignored - sorted.dd;
  return below;
}

bool BulkSums::is_settled() const {
  if (sorts_all()) return true;
  const BulkBucket rest = below();
  const auto count = static_cast<int64_t>(first_.count);
  const bool ends_above = static_cast<double>(count - left_out_of_bulk(count)) >= rest.count;
  return (first_bucket_ == 0 || (ends_above && is_left(rest.gg, first_.gg))) &&
         (rest.dd == 0 || is_left(rest.dd, first_.dd));
}

// By size; that of zeros first.
std::vector<BulkBucket> BulkSums::summed() const {
  if (!sorts_all()) {
    std::vector<BulkBucket> buckets = tables_[0];
    if (first_bucket_ > 0) buckets.insert(buckets.begin(), BulkBucket());
    add_to(buckets[0], below());
    return buckets;
  }
  std::vector<BulkBucket> buckets(tables_[0].begin(), tables_[0].begin() + kBulkBuckets);
  for (size_t i = 0; i < kBulkBuckets; ++i) add_to(buckets[i], tables_[1][i]);
  return buckets;
}

double BulkSums::rel_euclid() const {
  const std::vector<BulkBucket> buckets = summed();
  double total = 0;
  for (const BulkBucket& bucket : buckets) total += bucket.count;
  const auto count = static_cast<int64_t>(total);
  const auto bulk = static_cast<double>(count - left_out_of_bulk(count));
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

std::optional<BulkSums::WorstBand> BulkSums::worst_band(double ignored) const {
  constexpr size_t kBuckets = 8;  // of a power of two
  if (!sorts_all()) return std::nullopt;
  const std::vector<BulkBucket> buckets = summed();
  std::vector<std::pair<size_t, BulkBucket>> bands;
  std::vector<double> errors;
  for (size_t first = kBuckets; first + kBuckets <= buckets.size(); first += kBuckets) {
    BulkBucket band;
    for (size_t i = first; i < first + kBuckets; ++i) add_to(band, buckets[i]);
    if (band.count < static_cast<double>(kSmallestSlice)) continue;
    bands.emplace_back(first, band);
    errors.push_back(band.dd / band.count);
  }
  if (bands.size() < 2) return std::nullopt;
  const auto median = errors.begin() + (std::ssize(errors) - 1) / 2;
  std::nth_element(errors.begin(), median, errors.end());
  const double usual = std::max(16 * *median, ignored * ignored);
  std::optional<WorstBand> worst;
  for (const auto& [first, band] : bands) {
    if (!(band.dd / band.count > usual)) continue;
    const double ratio = std::sqrt(band.dd / band.gg);
    if (!worst || ratio > worst->ratio)
      worst = {ratio, static_cast<double>(bulk_bucket_begin(static_cast<uint32_t>(first))),
               static_cast<int64_t>(band.count)};
  }
  return worst;
}

// The elements left out hold at most left_out * max(g^2) of golden's energy, the rest no more error
// than all of them.
std::optional<double> bulk_bound(const PairSums& sums) {
  if (equal_where_finite(sums)) return 0;
  const double largest =
      std::ldexp(std::max(std::fabs(sums.g_min), std::fabs(sums.g_max)), -sums.exponent);
  const double least =
      sums.gg - static_cast<double>(left_out_of_bulk(sums.finite)) * largest * largest;
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

constinit const Accumulator kBulkSums{
    [](const PairFacts& first, bool exactly) {
      const bool is_bounded =
          !exactly && !first.may_lose_band && bulk_bound(first.sums) && off_bound(first.sums);
      return is_bounded ? nullptr
                        : accumulated(BulkSums(first.sums, first.target_dtype, first.golden_dtype,
                                               first.may_lose_band));
    },
    false, true};

}  // namespace plumb::metrics
