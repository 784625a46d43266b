// SPDX-License-Identifier: Apache-2.0
#include "metrics/slice_sums.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/checked.h"
#include "metrics/lanes.h"
#include "metrics/pair_block.h"

namespace plumb::metrics {
namespace {

// Estimated time per pair of sums by place and of sums by run, in the same unit.
double cost_of_places(int64_t period) {
  if (period <= 1 << 12) return 1;  // they stay in the first-level cache
  if (period <= 1 << 16) return 1.5;
  return period <= kMostSlices ? 3 : std::numeric_limits<double>::infinity();
}
double cost_of_folding(int64_t period, int64_t count) {
  return 6.0 * static_cast<double>(period) / static_cast<double>(std::min(count, kMostSlices * 8));
}
double cost_of_runs(int64_t period) { return 450.0 / static_cast<double>(period); }

constexpr double kPlainRatio = 0.3;  // of error and golden
constexpr double kFarOut = 40 * 40;  // times the usual square of errors: no chance, however small
// The same where the ratio is as far above that of others: noise is as large as everywhere, or as
// large a part of golden as everywhere.
constexpr double kFarInBoth = 12 * 12;

// The mean square of errors of slices where golden is not zero.
double mean_beside_golden(const auto& slices) {
  double sum = 0, count = 0;
  for (const auto& slice : slices) {
    if (slice.gg == 0) continue;
    sum += slice.dd;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

SliceSums::SliceSums(const Shape& shape) {
  std::vector<Axis> axes;
  count_ = 1;
  for (size_t number = shape.size(); number-- > 0;) {
    const int64_t length = shape[number];
    if (length != 1) axes.push_back({number, length, count_, false, 0});
    count_ *= length;
  }
  std::reverse(axes.begin(), axes.end());
  bool any = false;
  for (Axis& axis : axes) {
    axis.is_judged =
        axis.length > 1 && axis.length <= kMostSlices && count_ / axis.length >= kSmallestSlice;
    any |= axis.is_judged;
  }
  if (any)
    split(axes);
  else
    period_ = std::numeric_limits<int64_t>::max();  // one run
}

void SliceSums::split(const std::vector<Axis>& axes) {
  const auto is_judged = [](const Axis& axis) { return axis.is_judged; };
  double least = std::numeric_limits<double>::infinity();
  size_t first = 0;  // of the inner axes
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto middle = axes.begin() + static_cast<ptrdiff_t>(i);
    const int64_t period = axes[i].length * axes[i].stride;
    const double cost = (std::any_of(middle, axes.end(), is_judged)
                             ? cost_of_places(period) + cost_of_folding(period, count_)
                             : 0) +
                        (std::any_of(axes.begin(), middle, is_judged) ? cost_of_runs(period) : 0);
    if (cost > least) continue;
    least = cost;
    first = i;
  }
  const auto middle = axes.begin() + static_cast<ptrdiff_t>(first);
  outer_.assign(axes.begin(), middle);
  inner_.assign(middle, axes.end());
  has_places_ = std::any_of(middle, axes.end(), is_judged);
  period_ = middle->length * middle->stride;
  if (std::none_of(axes.begin(), middle, is_judged)) {  // longer runs go faster
    period_ *= std::max<int64_t>(1, std::min(kPairBlock, count_) / period_);
    outer_.clear();
  }
  size_t sums = has_places_ ? static_cast<size_t>(period_) : 0;
  for (Axis& axis : outer_) {
    axis.sums = sums;
    if (axis.is_judged) sums += 2 * static_cast<size_t>(axis.length);
  }
  size_ = sums;
  at_.assign(outer_.size(), 0);
}

void SliceSums::go_to(int64_t position) {
  position_ = position;
  for (size_t i = 0; i < outer_.size(); ++i)
    at_[i] = position / outer_[i].stride % outer_[i].length;
}

void SliceSums::end_run() {
  for (size_t i = outer_.size(); i-- > 0;) {
    if (++at_[i] < outer_[i].length) return;
    at_[i] = 0;
  }
}

int64_t SliceSums::block_at(int64_t position, int64_t most) const {
  constexpr int64_t kRound = 64;
  const int64_t left = period_ - position % period_;
  if (left <= most) return left;
  return std::min(most, ceil_div(ceil_div(left, ceil_div(left, kPairBlock)), kRound) * kRound);
}

double* SliceSums::places(int64_t position) {
  if (sums_.size() != size_) sums_.assign(size_, 0);
  return has_places_ ? sums_.data() + position % period_ : nullptr;
}

void SliceSums::add_run(int64_t position, int64_t count, double dd, double gg) {
  if (outer_.empty()) return;
  if (position != position_) go_to(position);
  for (size_t i = 0; i < outer_.size(); ++i) {
    if (!outer_[i].is_judged) continue;
    double* sums = sums_.data() + outer_[i].sums + at_[i];
    sums[0] += dd;
    sums[outer_[i].length] += gg;
  }
  position_ += count;
  if (position_ % period_ == 0) end_run();
}

void SliceSums::add_off(double size, double error) {
  constexpr int kLeast = -160, kMost = 160;
  if (off_.empty()) off_.resize(kMost - kLeast + 1);
  Band& band = off_[static_cast<size_t>(std::clamp(std::ilogb(size), kLeast, kMost) - kLeast)];
  ++band.count;
  band.dd += error * error;
}

bool SliceSums::may_lose_band(double dd, int64_t count, double ignored) const {
  for (const Band& band : off_) {
    dd -= band.dd;
    count -= band.count;
  }
  const double others = count > 0 ? std::max(dd, 0.0) / static_cast<double>(count) : 0;
  const double usual = std::max(16 * others, ignored * ignored);
  return std::any_of(off_.begin(), off_.end(), [&](const Band& band) {
    return band.count >= kSmallestSlice && band.dd > usual * static_cast<double>(band.count);
  });
}

void SliceSums::append(SliceSums&& later) {
  if (off_.empty()) off_.swap(later.off_);
  for (size_t i = 0; i < later.off_.size(); ++i) {
    off_[i].count += later.off_[i].count;
    off_[i].dd += later.off_[i].dd;
  }
  if (sums_.empty()) sums_.swap(later.sums_);
  for (size_t i = 0; i < later.sums_.size(); ++i) sums_[i] += later.sums_[i];
}

void SliceSums::add_golden(const double* golden, int64_t count) {
  golden_.resize(static_cast<size_t>(period_));
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(golden[i]))
      golden_[static_cast<size_t>(i % period_)] += golden[i] * golden[i];
}

void SliceSums::forget_golden() { golden_.clear(); }

// Of all slices, or of those where golden is not zero: of a sparse tensor most have no errors.
SliceSums::Usual SliceSums::usual_beside_golden(const std::vector<Squares>& slices, double median) {
  std::vector<Squares> some;
  std::copy_if(slices.begin(), slices.end(), std::back_inserter(some),
               [](const Squares& slice) { return slice.gg > 0; });
  if (some.empty()) return {median, 0};
  Usual usual{std::max(median, median_of(some)), 0};
  for (Squares& slice : some) slice.dd /= slice.gg;
  usual.square_ratio = median_of(some);
  return usual;
}

std::vector<SliceSums::Squares> SliceSums::of_outer(const Axis& axis) const {
  std::vector<Squares> slices(static_cast<size_t>(axis.length));
  const double* dd = sums_.data() + axis.sums;
  for (size_t i = 0; i < slices.size(); ++i) slices[i] = {dd[i], dd[slices.size() + i]};
  return slices;
}

std::vector<SliceSums::Squares> SliceSums::of_inner(const Axis& axis) const {
  std::vector<Squares> slices(static_cast<size_t>(axis.length));
  const auto add = [&](const std::vector<double>& terms, double Squares::*sum) {
    const double* place = terms.data();
    for (const double* const end = place + period_; place < end;) {
      for (Squares& slice : slices) {
        slice.*sum += axis.stride == 1 ? *place : lane_sum(place, axis.stride);
        place += axis.stride;
      }
    }
  };
  add(sums_, &Squares::dd);
  if (!golden_.empty()) add(golden_, &Squares::gg);
  return slices;
}

double SliceSums::median_of(const std::vector<Squares>& slices) {
  std::vector<double> errors;
  errors.reserve(slices.size());
  for (const Squares& slice : slices) errors.push_back(slice.dd);
  const auto median = errors.begin() + (std::ssize(errors) - 1) / 2;
  std::nth_element(errors.begin(), median, errors.end());
  return *median;
}

std::optional<SliceSums::Worst> SliceSums::worst(double ignored) const {
  std::optional<Worst> worst;
  const auto look_at = [&](const Axis& axis, const std::vector<Squares>& slices, bool is_bound) {
    const int64_t elements = count_ / axis.length;
    // Errors that most slices have are no news. Where golden has nothing to lose, nor are those
    // that slices with something have on average: sparse ones have few places for them.
    const double median = median_of(slices),
                 least = ignored * ignored * static_cast<double>(elements),
                 usual = std::max(16 * median, least),
                 average = is_bound ? 0 : 16 * mean_beside_golden(slices);
    std::optional<Usual> others;  // looked at where less than a third of golden is wrong
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto& [dd, gg] = slices[i];
      if (!(dd > (gg > 0 ? usual : std::max(usual, average)))) continue;
      const double ratio = gg > 0 ? std::sqrt(dd / gg) : std::numeric_limits<double>::infinity();
      if (ratio < kPlainRatio) {
        if (!others) others = is_bound ? Usual{median, 0} : usual_beside_golden(slices, median);
        const bool is_far_in_both =
            dd > kFarInBoth * others->dd && dd > kFarInBoth * others->square_ratio * gg;
        if (!(dd > least && (dd > kFarOut * others->dd || is_far_in_both))) continue;
      }
      if (!worst || ratio > worst->ratio)
        worst = {ratio, axis.number, static_cast<int64_t>(i), elements, is_bound};
    }
  };
  for (const Axis& axis : outer_)
    if (axis.is_judged) look_at(axis, of_outer(axis), false);
  for (const Axis& axis : inner_)
    if (axis.is_judged) look_at(axis, of_inner(axis), !golden_is_whole_);
  return worst;
}

std::vector<SliceSums::Doubtful> SliceSums::doubtful(double ignored, int64_t off) const {
  constexpr double kLost = kLostRatio * kLostRatio;
  constexpr int64_t kShareOff = 8;  // of an inner slice, at least one in so many
  std::vector<Doubtful> found;
  const auto look_at = [&](const Axis& axis, const std::vector<Squares>& slices, bool is_bound) {
    const auto elements = static_cast<double>(count_ / axis.length);
    const double usual = median_of(slices) / elements;
    const double least = std::max(kLost * std::max(kNoNoise * kNoNoise, elements) * usual,
                                  ignored * ignored * elements);
    for (size_t i = 0; i < slices.size(); ++i)
      if (slices[i].dd > least && slices[i].dd >= kLost * slices[i].gg)
        found.push_back({axis.number, static_cast<int64_t>(i), axis.length, axis.stride,
                         std::sqrt(usual), is_bound});
  };
  if (off < kSmallestSlice) return found;
  for (const Axis& axis : outer_)
    if (axis.is_judged) look_at(axis, of_outer(axis), false);
  for (const Axis& axis : inner_)
    if (axis.is_judged && kShareOff * off >= count_ / axis.length)
      look_at(axis, of_inner(axis), !golden_is_whole_);
  return found;
}

}  // namespace plumb::metrics
