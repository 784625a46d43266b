// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"
#include "metrics/finish.h"
#include "metrics/resolution.h"

namespace plumb::metrics {
namespace {

// How many of the largest |golden| the bulk leaves out: 1 %, rounded up; none of a handful.
int64_t left_out(int64_t count) { return count < 8 ? 0 : ceil_div(count, 100); }

// Sums without a part of them keep more than half of their digits.
bool is_left(double rest, double sum) { return rest >= 0x1p-20 * sum; }

float rounded_up(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) < value
             ? std::nextafter(narrow, std::numeric_limits<float>::infinity())
             : narrow;
}

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
      must_sort_all_(sorts_all) {
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
  restart();
}

void BulkSums::restart() {
  first_bucket_ = -1;
  exceptions_ = {};
  off_by_half_ = 0;
  for (auto& table : tables_) table.assign(kBulkBuckets + 1, {});
}

// From where on the bulk ends, as far as `golden` shows it: rather too low than too high.
void BulkSums::expect(std::span<const double> golden) {
  std::vector<double> sizes;
  for (const double value : golden)
    if (std::isfinite(value)) sizes.push_back(std::fabs(value));
  if (must_sort_all_ || first_.is_wide || sizes.empty()) return;
  const auto drawn = static_cast<double>(sizes.size());
  const bool are_all = drawn >= first_.count;
  const double left = are_all ? static_cast<double>(left_out(std::ssize(sizes)))
                              : std::ceil(0.01 * drawn + 0.4 * std::sqrt(drawn)) + 1;
  const auto end = sizes.end() - static_cast<ptrdiff_t>(std::min(left + 1, drawn));
  std::nth_element(sizes.begin(), end, sizes.end());
  first_bucket_ = static_cast<int>(std::min(bulk_bucket(*end), first_.largest));
  filter_.from = first_bucket_ > 0 ? bulk_bucket_begin(static_cast<uint32_t>(first_bucket_))
                                   : std::numeric_limits<float>::denorm_min();
  filter_.relative = rounded_up(scale_.relative);
  filter_.absolute = rounded_up(std::max(scale_.absolute, scale_.half_absolute));
  tables_[0].assign(first_.largest + 1 - static_cast<uint32_t>(first_bucket_), {});
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
    uint16_t places[kFloatBlock];
    const auto found = static_cast<size_t>(bulk_exceptions(t, g, n, filter_, places));
    add_exceptions(t, g, {places, found}, scale_, filter_.from,
                   static_cast<uint32_t>(first_bucket_), tables_[0].data(), exceptions_);
  });
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
  const bool ends_above = static_cast<double>(count - left_out(count)) >= rest.count;
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
  const bool is_bounded =
      !exactly && !first.may_lose_band && bulk_bound(first.sums) && off_bound(first.sums);
  return is_bounded ? nullptr
                    : accumulated(BulkSums(first.sums, first.target_dtype, first.golden_dtype,
                                           first.may_lose_band));
}};

}  // namespace plumb::metrics
