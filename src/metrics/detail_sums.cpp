// SPDX-License-Identifier: Apache-2.0
#include "metrics/detail_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/decoded_pairs.h"

namespace plumb::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double error_of(double target, double golden) {
  if (target == golden || (std::isnan(target) && std::isnan(golden))) return 0;
  if (!std::isfinite(target) || !std::isfinite(golden)) return kInfinity;
  return std::fabs(target - golden);
}

// In a fixed number of parts: they do not wait for each other, and digits are the same everywhere.
double sum_of(const double* values, int64_t count) {
  double parts[4] = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t k = 0; k < 4; ++k) parts[k] += values[i + k];
  for (; i < count; ++i) parts[0] += values[i];
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

double largest_of(const double* values, int64_t count) {
  double parts[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t k = 0; k < 8; ++k) parts[k] = values[i + k] > parts[k] ? values[i + k] : parts[k];
  for (; i < count; ++i) parts[0] = values[i] > parts[0] ? values[i] : parts[0];
  return *std::max_element(parts, parts + 8);
}

// Pictures of it need no more, and documents get shorter. Powers of ten up to 22 are exact.
double three_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  double tried = 1e20;
  int exponent = -20;  // tenth of the decade
  while (exponent <= 20 && !(value * tried < 1000)) {
    ++exponent;
    tried = exponent < 0 ? kPowers[-exponent] : 1 / kPowers[exponent];
  }
  if (exponent > 20 || value * 1e20 < 100) return value;
  return exponent < 0 ? std::nearbyint(value * kPowers[-exponent]) / kPowers[-exponent]
                      : std::nearbyint(value / kPowers[exponent]) * kPowers[exponent];
}

// 63 is `largest`; ten and a half levels are a factor of ten.
uint8_t level_of(double error, double largest) {
  constexpr double kStep = 0.8030857221391514;  // 10^(-1/10.5)
  constexpr double kHalf = 0.8961505019466046;  // 10^(-0.5/10.5)
  if (error == 0) return 0;
  auto level = static_cast<uint8_t>(kHeatLevels);
  for (double bound = largest * kHalf; level > 1 && error < bound; bound *= kStep) --level;
  return level;
}

}  // namespace

size_t channel_axis(const Shape& shape, bool are_channels_last) {
  const size_t rank = shape.size();
  if (rank == 0) return 0;
  const size_t usual = rank >= 4 && !are_channels_last ? 1 : rank - 1;
  if (shape[usual] > 1) return usual;
  return static_cast<size_t>(std::max_element(shape.begin(), shape.end()) - shape.begin());
}

DetailSums::DetailSums(Shape shape, size_t channel_axis)
    : shape_(std::move(shape)), axis_(channel_axis) {
  const size_t rank = shape_.size();
  // Lines of the heat map: tokens, or channels of pictures; what varies, if there is anything.
  size_t split = rank == 0 ? 0 : std::min<size_t>(2, rank - 1);
  const auto all_one = [&] {
    return std::all_of(shape_.begin(), shape_.begin() + static_cast<int64_t>(split),
                       [](int64_t length) { return length == 1; });
  };
  while (split + 1 < rank && all_one()) ++split;
  for (size_t i = 0; i < rank; ++i) (i < split ? outer_ : inner_) *= shape_[i];
  heat_rows_ = std::clamp<int64_t>(outer_, 1, kMostHeatCells);
  heat_columns_ = std::clamp<int64_t>(inner_, 1, kMostHeatCells);
  heat_.resize(static_cast<size_t>(heat_rows_ * heat_columns_));
  if (rank == 0) return;
  length_ = shape_[axis_];
  for (size_t i = axis_ + 1; i < rank; ++i) stride_ *= shape_[i];
  each_ = std::max<int64_t>(1, ceil_div(length_, kMostChannels));
  channels_.resize(static_cast<size_t>(ceil_div(length_, each_)));
}

void DetailSums::add(const PairPiece& piece, int64_t first) {
  int64_t position = part_of(piece.target_dtype) == piece.target_dtype ? first : 2 * first;
  for_each_block(piece, [&](const double* target, const double* golden, int64_t count) {
    add_block(position, target, golden, count);
    position += count;
  });
}

void DetailSums::add_block(int64_t position, const double* target, const double* golden,
                           int64_t count) {
  histogram_.add(target, golden, count);
  double errors[kDetailBlock], dd[kDetailBlock], gg[kDetailBlock];
  for (int64_t i = 0; i < count; ++i) {
    const double d = target[i] - golden[i];
    errors[i] = std::fabs(d);
    dd[i] = d * d;
    gg[i] = golden[i] * golden[i];
  }
  const double sum = sum_of(errors, count) + sum_of(gg, count);
  if (!std::isfinite(sum))  // rare: each by itself
    for (int64_t i = 0; i < count; ++i) {
      const bool are_finite = std::isfinite(target[i]) && std::isfinite(golden[i]);
      errors[i] = error_of(target[i], golden[i]);
      if (!are_finite) dd[i] = gg[i] = 0;
    }
  add_channels(position, dd, gg, count);
  const double largest = largest_of(errors, count);
  if (largest == 0) return;
  add_heat(position, errors, count);
  const auto threshold = [&] { return std::ssize(worst_) < kMostWorst ? 0 : worst_.back().error; };
  if (largest <= threshold()) return;
  for (int64_t i = 0; i < count; ++i)
    if (errors[i] > threshold()) add_worst({errors[i], position + i, target[i], golden[i]});
}

// Behind those that are as large.
void DetailSums::add_worst(const Element& element) {
  const auto place = std::find_if(worst_.begin(), worst_.end(), [&](const Element& other) {
    return other.error < element.error;
  });
  worst_.insert(place, element);
  if (std::ssize(worst_) > kMostWorst) worst_.pop_back();
}

void DetailSums::add_heat(int64_t position, const double* errors, int64_t count) {
  int64_t line = position / inner_, at = position % inner_;
  for (int64_t i = 0; i < count;) {
    const int64_t row = line * heat_rows_ / outer_;
    double* const cells = heat_.data() + row * heat_columns_;
    for (int64_t column = at * heat_columns_ / inner_; column < heat_columns_ && i < count;
         ++column) {
      const int64_t end = ceil_div((column + 1) * inner_, heat_columns_);
      const int64_t run = std::min(count - i, end - at);
      cells[column] = std::max(cells[column], run == 1 ? errors[i] : largest_of(errors + i, run));
      i += run;
      at += run;
    }
    if (at < inner_) break;
    at = 0;
    ++line;
  }
}

void DetailSums::add_channels(int64_t position, const double* dd, const double* gg, int64_t count) {
  if (channels_.empty()) return;
  int64_t channel = position / stride_ % length_, offset = position % stride_;
  auto group = static_cast<size_t>(channel / each_);
  for (int64_t i = 0; i < count;) {
    const int64_t end = std::min(length_, (static_cast<int64_t>(group) + 1) * each_);
    const int64_t run = std::min(count - i, (end - channel) * stride_ - offset);
    Channel& sums = channels_[group];
    sums.count += run;
    sums.dd += run == 1 ? dd[i] : sum_of(dd + i, run);
    sums.gg += run == 1 ? gg[i] : sum_of(gg + i, run);
    i += run;
    offset = 0;
    channel = end == length_ ? 0 : end;
    group = end == length_ ? 0 : group + 1;
  }
}

void DetailSums::append(const DetailSums& later) {
  histogram_.append(later.histogram_);
  for (size_t i = 0; i < heat_.size(); ++i) heat_[i] = std::max(heat_[i], later.heat_[i]);
  for (size_t i = 0; i < channels_.size(); ++i) {
    channels_[i].count += later.channels_[i].count;
    channels_[i].dd += later.channels_[i].dd;
    channels_[i].gg += later.channels_[i].gg;
  }
  for (const Element& element : later.worst_) add_worst(element);
}

std::optional<ChannelErrors> DetailSums::channels() const {
  if (channels_.size() < 2) return std::nullopt;
  ChannelErrors errors{static_cast<int64_t>(axis_), length_, each_, {}, {}};
  for (const Channel& channel : channels_) {
    const auto count = static_cast<double>(std::max<int64_t>(channel.count, 1));
    errors.error.push_back(three_digits(std::sqrt(channel.dd / count)));
    errors.golden.push_back(three_digits(std::sqrt(channel.gg / count)));
  }
  return errors;
}

std::optional<HeatMap> DetailSums::heat() const {
  HeatMap map{heat_rows_, heat_columns_, 0, {}};
  for (const double error : heat_)
    if (error < kInfinity) map.largest = std::max(map.largest, error);
  const double most = *std::max_element(heat_.begin(), heat_.end());
  if (most == 0) return std::nullopt;
  if (map.largest == 0) map.largest = most;
  for (const double error : heat_) map.levels.push_back(level_of(error, map.largest));
  return map;
}

Details DetailSums::finish() const {
  Details details{histogram_.finish(), channels(), heat(), {}};
  for (const Element& element : worst_) {
    WorstElement& shown = details.worst.emplace_back();
    shown.index.resize(shape_.size());
    int64_t rest = element.position;
    for (size_t axis = shape_.size(); axis-- > 0; rest /= shape_[axis])
      shown.index[axis] = rest % shape_[axis];
    shown.target = element.target;
    shown.golden = element.golden;
  }
  return details;
}

}  // namespace plumb::metrics
