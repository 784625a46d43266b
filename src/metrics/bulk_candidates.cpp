// SPDX-License-Identifier: Apache-2.0
#include "metrics/bulk_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/bulk_sums.h"
#include "metrics/decoded_pairs.h"
#include "metrics/resolution.h"

namespace plumb::metrics {
namespace {

float rounded_up(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) < value
             ? std::nextafter(narrow, std::numeric_limits<float>::infinity())
             : narrow;
}

}  // namespace

int64_t left_out_of_bulk(int64_t count) { return count < 8 ? 0 : ceil_div(count, 100); }

std::optional<uint32_t> expected_end_of_bulk(std::span<const double> golden, double count) {
  std::vector<double> sizes;
  for (const double value : golden)
    if (std::isfinite(value)) sizes.push_back(std::fabs(value));
  if (sizes.empty()) return std::nullopt;
  const auto drawn = static_cast<double>(sizes.size());
  const bool are_all = drawn >= count;
  const double left = are_all ? static_cast<double>(left_out_of_bulk(std::ssize(sizes)))
                              : std::ceil(0.01 * drawn + 0.4 * std::sqrt(drawn)) + 1;
  const auto end = sizes.end() - static_cast<ptrdiff_t>(std::min(left + 1, drawn));
  std::nth_element(sizes.begin(), end, sizes.end());
  return bulk_bucket(*end);
}

BulkScale bulk_scale(const PairSums& first, DType target, DType golden) {
  const DType coarser =
      coarser_of(shown_target_dtype(target, first), shown_golden_dtype(golden, first));
  const Resolution resolution = resolution_of(coarser);
  const auto n = static_cast<double>(std::max<int64_t>(first.finite, 1));
  const double rms = std::sqrt(first.gg / n);
  BulkScale scale{};
  scale.scale = std::ldexp(1.0, -first.exponent);
  scale.relative = resolution.relative;
  scale.absolute = std::max(resolution.absolute * scale.scale, resolution.relative * rms);
  // What sums of float32 leave behind is no number of its own; one step of an integer is none
  // either.
  const double step = kind_of(coarser) == DKind::kFloat ? resolution.absolute : 1;
  scale.half_absolute = std::max(step * scale.scale, 0x1p-21 * rms);
  return scale;
}

BulkFilter bulk_filter(const BulkScale& scale, uint32_t first_bucket) {
  BulkFilter filter{};
  filter.from =
      first_bucket > 0 ? bulk_bucket_begin(first_bucket) : std::numeric_limits<float>::denorm_min();
  filter.relative = rounded_up(scale.relative);
  filter.absolute = rounded_up(std::max(scale.absolute, scale.half_absolute));
  return filter;
}

bool BulkCandidates::may_be_needed(const PairSums& look) {
  return look.finite > 0 && !(bulk_bound(look) && off_bound(look));
}

std::optional<BulkCandidates> BulkCandidates::foreseen(const PairFacts& look,
                                                       std::span<const double> drawn) {
  constexpr double kMargin = 2;  // values elsewhere may be larger
  if (!may_be_needed(look.sums) || !fits_float(part_of(look.target_dtype)) ||
      !fits_float(part_of(look.golden_dtype)))
    return std::nullopt;
  const auto end = expected_end_of_bulk(drawn, std::numeric_limits<double>::infinity());
  if (!end || *end == 0) return std::nullopt;
  BulkScale scale = bulk_scale(look.sums, look.target_dtype, look.golden_dtype);
  scale.absolute *= kMargin;
  scale.half_absolute *= kMargin;
  return BulkCandidates(bulk_filter(scale, *end));
}

void BulkCandidates::add(const float* target, const float* golden, int64_t count) {
  constexpr int64_t kEnough = 1 << 14;  // to tell a share
  constexpr int64_t kMostInOf = 8;
  if (!are_few_) return;
  BulkRoom room;
  const int64_t found = bulk_exceptions(target, golden, count, filter_, room);
  target_.insert(target_.end(), room.target, room.target + found);
  golden_.insert(golden_.end(), room.golden, room.golden + found);
  seen_ += count;
  if (seen_ < kEnough || std::ssize(target_) * kMostInOf <= seen_) return;
  are_few_ = false;
  target_ = {};
  golden_ = {};
}

bool BulkCandidates::hold(const BulkFilter& filter) const {
  return are_few_ && filter_.from <= filter.from && filter_.relative >= filter.relative &&
         filter_.absolute >= filter.absolute;
}

}  // namespace plumb::metrics
