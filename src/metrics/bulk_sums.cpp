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

constexpr size_t kOctave = 8;                          // buckets of a power of two
constexpr double kPlainInBand = 0.3, kAboveWhole = 3;  // of error and golden; times rel_euclid

// Sums without a part of them keep more than half of their digits.
bool is_left(double rest, double sum) { return rest >= 0x1p-20 * sum; }

void add_to(BulkBucket& sum, const BulkBucket& terms) {
  sum.count += terms.count;
  sum.gg += terms.gg;
  sum.dd += terms.dd;
  sum.off += terms.off;
}

// Whether all that differs in a bucket differs by no more than `error`.
bool is_within(const BulkBucket& bucket, double error) {
  return error > 0 && bucket.dd <= error * error * bucket.count;
}

}  // namespace

BulkSums::BulkSums(const PairSums& first, DType target, DType golden, bool sorts_all)
    : first_{static_cast<double>(first.finite),
             first.gg,
             first.dd,
             first.finite - (first.equal - first.same_nan - first.same_inf),
             first.off_by_half,
             first.g_zeros,
             bulk_bucket(std::max(std::fabs(first.g_min), std::fabs(first.g_max))),
             first.exponent != 0 || !fits_float(part_of(target)) || !fits_float(part_of(golden))},
      must_sort_all_(sorts_all),
      scale_(bulk_scale(first, target, golden)) {
  restart();
}

void BulkSums::restart() {
  first_bucket_ = -1;
  exceptions_ = {};
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
      bulk_block(t, g, n, scale_, tables);
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
         (rest.dd == 0 || is_left(rest.dd, first_.dd)) && !is_suspicious();
}

// Much is wrong by count though little by size: worth a look at how errors and values compare.
bool BulkSums::is_suspicious() const {
  constexpr double kLargest = 0.12;  // rel_euclid that any limits allow
  if (first_.dd > kLargest * kLargest * first_.gg) return false;
  const double others = first_.count - static_cast<double>(first_.zeros);
  return static_cast<double>(off_by_half()) > 0.2 * others || rel_euclid() > 0.1;
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
  const double common = common_error(buckets);
  double left = bulk, gg = 0, dd = 0;
  for (const BulkBucket& bucket : buckets) {
    if (bucket.count == 0) continue;
    const double taken = std::min(left, bucket.count);
    const double share = taken / bucket.count;
    gg += share * bucket.gg;
    if (!is_within(bucket, common)) dd += share * bucket.dd;
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

int64_t BulkSums::off_by_half() const {
  if (!sorts_all()) return first_.off - exceptions_.not_off;
  const std::vector<BulkBucket> buckets = summed();
  const double common = common_error(buckets);
  double off = 0;
  for (const BulkBucket& bucket : buckets)
    if (!is_within(bucket, common)) off += bucket.off;
  return static_cast<int64_t>(off);
}

// With enough values to tell.
struct BulkSums::Band {
  size_t first;  // bucket
  BulkBucket sums;
  double error() const { return sums.dd / sums.count; }  // squared
};

std::vector<BulkSums::Band> BulkSums::bands_of(const std::vector<BulkBucket>& buckets,
                                               int64_t fewest) {
  std::vector<Band> bands;
  for (size_t first = kOctave; first + kOctave <= buckets.size(); first += kOctave) {
    Band band{first, {}};
    for (size_t i = first; i < first + kOctave; ++i) add_to(band.sums, buckets[i]);
    if (band.sums.count >= static_cast<double>(fewest)) bands.push_back(band);
  }
  return bands;
}

double BulkSums::common_error() const { return common_error(summed()); }

// Rounding errors grow with the values; those of a sum's operands do not. So the smallest values
// that agree have to show the same error as those four times as large.
double BulkSums::common_error(const std::vector<BulkBucket>& buckets) const {
  constexpr double kAgrees = 0.25 * 0.25;  // of golden's square
  constexpr double kAlike = 2 * 2;         // of squared errors
  constexpr double kFew = 4;               // errors of a usual size are within so many
  constexpr double kLargest = 0x1p-6;      // of golden's root mean square
  constexpr int64_t kFewest = 8;           // values of a size
  if (!sorts_all()) return 0;
  std::vector<Band> agreeing;
  for (const Band& band : bands_of(buckets, kFewest))
    if (band.sums.dd > 0 && band.sums.dd <= kAgrees * band.sums.gg) agreeing.push_back(band);
  if (agreeing.empty()) return 0;
  const auto above = std::find_if(agreeing.begin(), agreeing.end(), [&](const Band& band) {
    return band.first >= agreeing.front().first + 2 * kOctave;
  });
  if (above == agreeing.end() || above->error() > kAlike * agreeing.front().error()) return 0;
  const double rms = std::sqrt(first_.gg / std::max(first_.count, 1.0));
  return std::min(kFew * std::sqrt(agreeing.front().error()), kLargest * rms);
}

std::optional<BulkSums::WorstBand> BulkSums::worst_band(double ignored) const {
  if (!sorts_all()) return std::nullopt;
  const std::vector<Band> bands = bands_of(summed(), kSmallestSlice);
  std::vector<double> errors;
  for (const Band& band : bands) errors.push_back(band.error());
  if (bands.size() < 2) return std::nullopt;
  const auto median = errors.begin() + (std::ssize(errors) - 1) / 2;
  std::nth_element(errors.begin(), median, errors.end());
  const double usual = std::max(16 * *median, ignored * ignored);
  const double whole = std::sqrt(first_.dd / first_.gg);
  std::optional<WorstBand> worst;
  for (const Band& band : bands) {
    if (!(band.error() > usual)) continue;
    const double ratio = std::sqrt(band.sums.dd / band.sums.gg);
    // What is off by little is no news where all is.
    if (ratio < kPlainInBand && ratio < kAboveWhole * whole) continue;
    if (!worst || ratio > worst->ratio)
      worst = {ratio, static_cast<double>(bulk_bucket_begin(static_cast<uint32_t>(band.first))),
               static_cast<int64_t>(band.sums.count)};
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
