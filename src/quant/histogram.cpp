// SPDX-License-Identifier: Apache-2.0
#include "quant/histogram.h"

#include <algorithm>
#include <cmath>

namespace plumb::quant {
namespace {

constexpr int kFinest = -126;  // the inverse of a width is a float
constexpr size_t kCountingLanes = 4;

int64_t bin_of(double value, int exponent) {
  return static_cast<int64_t>(std::floor(std::ldexp(value, -exponent)));
}

// The bins of a range, if it were counted by this width.
struct Span {
  int64_t first = 0, last = 0;

  int64_t size() const { return last - first + 1; }
  // Zero is in every grid, so bins are counted from there.
  bool fits(int64_t most) const {
    return std::max<int64_t>(last, 0) - std::min<int64_t>(first, 0) < most;
  }
};
Span span_of(Range range, int exponent) {
  return {bin_of(range.lo, exponent), bin_of(range.hi, exponent)};
}

// The product is exact, and so is the floor of it.
int32_t bin_in(float value, float per_width) {
  const float steps = value * per_width;
  const auto whole = static_cast<int32_t>(steps);
  return whole - static_cast<int32_t>(steps < static_cast<float>(whole));
}

}  // namespace

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

void Histogram::add(std::span<const float> values, Range range) {
  if (values.empty()) return;
  make_room(range);
  total_ += static_cast<int64_t>(values.size());
  const auto per_width = static_cast<float>(std::ldexp(1.0, -exponent_));
  const auto first = static_cast<int32_t>(first_);
  size_t at = 0;
  // Equal numbers side by side, such as the zeros behind a Relu, would wait for each other's count.
  if (values.size() >= 4 * counts_.size()) {
    std::vector<uint32_t> lanes(kCountingLanes * counts_.size());
    for (; at + kCountingLanes <= values.size(); at += kCountingLanes)
      for (size_t k = 0; k < kCountingLanes; ++k)
        ++lanes[static_cast<size_t>(bin_in(values[at + k], per_width) - first) * kCountingLanes +
                k];
    for (size_t bin = 0; bin < counts_.size(); ++bin)
      for (size_t k = 0; k < kCountingLanes; ++k) counts_[bin] += lanes[bin * kCountingLanes + k];
  }
  for (; at < values.size(); ++at)
    ++counts_[static_cast<size_t>(bin_in(values[at], per_width) - first)];
}

void Histogram::add(const Histogram& other) {
  if (other.counts_.empty()) return;
  Histogram finer = other;
  const int64_t last = other.first_ + std::ssize(other.counts_) - 1;
  make_room({static_cast<double>(other.first_) * other.width(),
             static_cast<double>(last) * other.width()});
  while (exponent_ < finer.exponent_) coarsen();
  while (finer.exponent_ < exponent_) finer.coarsen();
  total_ += finer.total_;
  for (size_t bin = 0; bin < finer.counts_.size(); ++bin)
    counts_[static_cast<size_t>(finer.first_ - first_) + bin] += finer.counts_[bin];
}

// The width is the smallest power of two that does for all numbers so far.
void Histogram::make_room(Range range) {
  if (counts_.empty()) {
    const double span = std::max(range.hi, 0.0) - std::min(range.lo, 0.0);
    exponent_ = kFinest;
    if (span > 0)
      exponent_ = std::max(exponent_, std::ilogb(span / static_cast<double>(most_bins_)) - 1);
    while (!span_of(range, exponent_).fits(most_bins_)) ++exponent_;
    first_ = span_of(range, exponent_).first;
    counts_.assign(static_cast<size_t>(span_of(range, exponent_).size()), 0);
    return;
  }
  const auto joined = [&] {
    const Span added = span_of(range, exponent_);
    return Span{std::min(first_, added.first),
                std::max(first_ + std::ssize(counts_) - 1, added.last)};
  };
  while (!joined().fits(most_bins_)) coarsen();
  const Span all = joined();
  counts_.insert(counts_.begin(), static_cast<size_t>(first_ - all.first), 0);
  first_ = all.first;
  counts_.resize(static_cast<size_t>(all.size()));
}

// Two neighbours of which the first has an even number become one.
void Histogram::coarsen() {
  const int64_t first = first_ >> 1, last = (first_ + std::ssize(counts_) - 1) >> 1;
  std::vector<int64_t> merged(static_cast<size_t>(last - first + 1));
  for (size_t bin = 0; bin < counts_.size(); ++bin)
    merged[static_cast<size_t>(((first_ + static_cast<int64_t>(bin)) >> 1) - first)] +=
        counts_[bin];
  counts_ = std::move(merged);
  first_ = first;
  ++exponent_;
}

std::vector<int64_t> Histogram::magnitudes() const {
  const int64_t last = first_ + std::ssize(counts_) - 1;
  std::vector<int64_t> folded(static_cast<size_t>(std::max(last, -first_ - 1) + 1));
  for (size_t bin = 0; bin < counts_.size(); ++bin) {
    const int64_t number = first_ + static_cast<int64_t>(bin);
    folded[static_cast<size_t>(number < 0 ? -number - 1 : number)] += counts_[bin];
  }
  return folded;
}

}  // namespace plumb::quant
