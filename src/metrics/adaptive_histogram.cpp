// SPDX-License-Identifier: Apache-2.0
#include "metrics/adaptive_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plumb::metrics {
namespace {

constexpr int kLowest = -1000;  // exponent: 2^1000 is still a number
constexpr int kFinest = 20;     // bits: bins of values that are nearly the same are no narrower

// Rounded down; |value * scale| stays below 2^31, and may vanish.
inline int32_t bin_of(double value, double scale) {
  const double scaled = value * scale;
  const auto whole = static_cast<int32_t>(scaled);
  const bool is_below = whole == 0 ? value < 0 : scaled < whole;
  return whole - (is_below ? 1 : 0);
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool all_finite = true;
};

// In eight partial ones, which compilers keep in vectors.
Range range_of(const double* values, int64_t count) {
  constexpr int64_t kLanes = 8;
  double low[kLanes], high[kLanes], odd[kLanes];
  std::fill_n(low, kLanes, std::numeric_limits<double>::infinity());
  std::fill_n(high, kLanes, -std::numeric_limits<double>::infinity());
  std::fill_n(odd, kLanes, 0.0);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
      odd[lane] += value - value;  // NaN once something is not finite
    }
  Range range;
  double sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    range.low = std::min(range.low, low[lane]);
    range.high = std::max(range.high, high[lane]);
    sum += odd[lane];
  }
  for (; i < count; ++i) {
    range.low = values[i] < range.low ? values[i] : range.low;
    range.high = values[i] > range.high ? values[i] : range.high;
    sum += values[i] - values[i];
  }
  range.all_finite = sum == 0;
  if (range.all_finite) return range;
  range = {};
  range.all_finite = false;
  for (i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    range.low = std::min(range.low, values[i]);
    range.high = std::max(range.high, values[i]);
  }
  return range;
}

}  // namespace

void AdaptiveHistogram::add(const double* target, const double* golden, int64_t n) {
  const Range t = range_of(target, n), g = range_of(golden, n);
  const double low = std::min(t.low, g.low), high = std::max(t.high, g.high);
  if (low > high) return;  // nothing is finite
  cover(low, high);
  count(target, n, t.all_finite, target_);
  count(golden, n, g.all_finite, golden_);
}

void AdaptiveHistogram::append(const AdaptiveHistogram& later) {
  if (!later.has_any_) return;
  cover(later.low_, later.high_);
  AdaptiveHistogram moved = later;
  moved.move_to(exponent_, first_);
  for (size_t i = 0; i < target_.size(); ++i) {
    target_[i] += moved.target_[i];
    golden_[i] += moved.golden_[i];
  }
}

std::optional<PairHistogram> AdaptiveHistogram::finish() const {
  if (!has_any_) return std::nullopt;
  int64_t bins = kMostBins;
  const auto is_empty = [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return target_[at] == 0 && golden_[at] == 0;
  };
  while (bins > 1 && is_empty(bins - 1)) --bins;
  PairHistogram histogram;
  const bool is_zero = low_ == 0 && high_ == 0;
  histogram.low = std::ldexp(static_cast<double>(first_), exponent_);
  histogram.high = is_zero ? 1 : std::ldexp(static_cast<double>(first_ + bins), exponent_);
  histogram.target.assign(target_.begin(), target_.begin() + bins);
  histogram.golden.assign(golden_.begin(), golden_.begin() + bins);
  return histogram;
}

// The narrowest bins that reach from the lowest to the highest value: only these two decide.
void AdaptiveHistogram::cover(double low, double high) {
  if (has_any_ && low >= low_ && high <= high_) return;
  low_ = has_any_ ? std::min(low_, low) : low;
  high_ = has_any_ ? std::max(high_, high) : high;
  const double largest = std::max(std::fabs(low_), std::fabs(high_));
  int exponent = largest == 0 ? kLowest : std::max(kLowest, std::ilogb(largest) - kFinest);
  const auto reaches = [&] {
    const double scale = std::ldexp(1, -exponent);
    return bin_of(high_, scale) - bin_of(low_, scale) < kMostBins;
  };
  while (!reaches()) ++exponent;
  const int64_t first = bin_of(low_, std::ldexp(1, -exponent));
  if (has_any_) {
    move_to(exponent, first);
  } else {
    exponent_ = exponent;
    first_ = first;
  }
  has_any_ = true;
}

void AdaptiveHistogram::move_to(int exponent, int64_t first) {
  const int shift = std::min(exponent - exponent_, 62);  // never narrower
  const auto moved = [&](const Counts& counts) {
    Counts to{};
    for (size_t i = 0; i < counts.size(); ++i)
      if (counts[i] != 0)
        to[static_cast<size_t>(((first_ + static_cast<int64_t>(i)) >> shift) - first)] += counts[i];
    return to;
  };
  target_ = moved(target_);
  golden_ = moved(golden_);
  exponent_ = exponent;
  first_ = first;
}

void AdaptiveHistogram::count(const double* values, int64_t n, bool all_finite,
                              Counts& counts) const {
  constexpr int64_t kBlock = 64;
  const double scale = std::ldexp(1, -exponent_);
  const auto first = static_cast<int32_t>(first_);
  if (!all_finite) {
    for (int64_t i = 0; i < n; ++i)
      if (std::isfinite(values[i])) ++counts[static_cast<size_t>(bin_of(values[i], scale) - first)];
    return;
  }
  int32_t bins[kBlock];
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t size = std::min(kBlock, n - from);
    for (int64_t i = 0; i < size; ++i) bins[i] = bin_of(values[from + i], scale) - first;
    for (int64_t i = 0; i < size; ++i) ++counts[static_cast<size_t>(bins[i])];
  }
}

}  // namespace plumb::metrics
