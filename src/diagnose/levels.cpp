// SPDX-License-Identifier: Apache-2.0
#include "diagnose/levels.h"

#include <algorithm>
#include <cmath>

namespace plumb::diagnose {
namespace {

constexpr size_t kLookedAt = size_t{1} << 15;
constexpr int64_t kMostLevels = 256;   // of eight bits
constexpr size_t kFewestElements = 4;  // elements

// Every n-th, so that a large tensor is not judged by its beginning.
std::vector<double> sample(const std::vector<double>& values) {
  const size_t step = values.size() / kLookedAt + 1;
  std::vector<double> some;
  some.reserve(values.size() / step + 1);
  for (size_t i = 0; i < values.size(); i += step) some.push_back(values[i]);
  std::sort(some.begin(), some.end());
  return some;
}

std::vector<double> distinct(std::vector<double> sorted) {
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

// Quantized values are whole multiples of one number, up to what their type rounds: the largest
// such number, 0 if there is none. As many values as there are must not fit by chance, which is
// less likely where they are few besides.
double grid_step(const std::vector<double>& levels, DType dtype, bool are_few) {
  const double most_chance = are_few ? 1e-2 : 1e-4;
  const double largest = std::max(std::abs(levels.front()), std::abs(levels.back()));
  const double rounding = dtype == DType::kFloat16    ? 0x1p-11
                          : dtype == DType::kBFloat16 ? 0x1p-8
                                                      : 1e-6;
  if (!(largest > 0)) return 0;
  for (int64_t steps = 3; steps <= kMostLevels; ++steps) {
    const double step = largest / static_cast<double>(steps);
    double chance = static_cast<double>(kMostLevels);
    bool fits = true;
    for (const double level : levels) {
      if (level == 0) continue;
      const double place = level / step;
      // The largest value was rounded as well, which moves all the others in proportion.
      const double tolerance = 0.02 + 2 * std::abs(place) * rounding;
      fits = std::abs(place - std::round(place)) <= tolerance;
      if (!fits) break;
      chance *= std::min(1.0, 2 * tolerance);
    }
    if (fits && chance < most_chance) return step;
  }
  return 0;
}

}  // namespace

bool may_be_grid(const std::vector<double>& values) {
  constexpr size_t kGlance = 2048;
  std::vector<double> some(values.begin(),
                           values.begin() + static_cast<int64_t>(std::min(kGlance, values.size())));
  std::sort(some.begin(), some.end());
  return std::ssize(distinct(std::move(some))) <= kMostLevels;
}

bool is_type_limit(double value) {
  constexpr double kLimits[] = {127,   128,   255,   7,   8,   15,   32767,
                                32768, 65535, 65504, 448, 240, 57344};
  return std::any_of(std::begin(kLimits), std::end(kLimits), [&](double limit) {
    return std::abs(std::abs(value) - limit) <= 1e-3 * limit;
  });
}

bool Levels::is_clipped() const {
  const auto piles_up = [&](int64_t at, int64_t beyond, double limit) {
    const int64_t enough = is_type_limit(limit) ? 1 : 2;  // at a limit of a type one is no chance
    return at >= enough && beyond >= enough && 2 * at >= beyond;
  };
  return piles_up(at_high, above, high) || piles_up(at_low, below, low);
}

std::optional<Levels> levels_of(const compare::PairValues& values) {
  if (!values.is_aligned() || values.target.size() < kFewestElements) return {};
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(values.target.begin(), values.target.end(), is_finite) ||
      !std::all_of(values.golden.begin(), values.golden.end(), is_finite))
    return {};
  Levels found;
  found.elements = std::ssize(values.target);
  const std::vector<double> target = distinct(sample(values.target));
  const std::vector<double> golden = distinct(sample(values.golden));
  found.count = std::ssize(target);
  found.golden = std::ssize(golden);
  const auto [low, high] = std::minmax_element(values.target.begin(), values.target.end());
  found.low = *low;
  found.high = *high;
  found.golden_low = golden.front();
  found.golden_high = golden.back();
  if (found.count <= kMostLevels && found.golden > found.count) {
    constexpr int64_t kFewer = 4, kFewest = 6;
    const bool are_few = found.count >= kFewest && kFewer * found.count <= found.golden;
    found.step = grid_step(target, values.target_dtype, are_few);
    found.is_grid = found.step > 0 && grid_step(golden, values.golden_dtype, false) == 0;
  }
  // What lies beyond the ends by more than a rounding.
  const double extent = found.high - found.low;
  const double margin = std::max(found.step / 2, 2e-3 * extent);
  double dd = 0, cc = 0, gg = 0;
  for (size_t i = 0; i < values.target.size(); ++i) {
    const double t = values.target[i], g = values.golden[i];
    const double cut = std::clamp(g, found.low, found.high);
    found.above += g > found.high + margin;
    found.below += g < found.low - margin;
    found.at_high += t >= found.high - 1e-9 * extent && g > found.high + margin;
    found.at_low += t <= found.low + 1e-9 * extent && g < found.low - margin;
    dd += (t - g) * (t - g);
    cc += (t - cut) * (t - cut);
    gg += g * g;
  }
  if (gg > 0) {
    found.error = std::sqrt(dd / gg);
    found.after_clipping = std::sqrt(cc / gg);
  }
  return found;
}

std::optional<ChannelSpread> channel_spread(const compare::PairValues& values) {
  if (!values.is_aligned() || !values.is_whole) return {};
  std::optional<ChannelSpread> widest;
  const Shape& shape = values.golden_shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t channels = shape[axis];
    if (channels < 3 || (axis == 0 && shape.size() > 1 && shape.size() != 2)) continue;
    int64_t inner = 1;
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
    std::vector<double> largest(static_cast<size_t>(channels), 0), dd = largest, gg = largest;
    for (size_t i = 0; i < values.golden.size(); ++i) {
      const auto channel = (i / static_cast<size_t>(inner)) % static_cast<size_t>(channels);
      const double g = values.golden[i], d = values.target[i] - g;
      largest[channel] = std::max(largest[channel], std::abs(g));
      dd[channel] += d * d;
      gg[channel] += g * g;
    }
    std::vector<double> sorted = largest;
    std::nth_element(sorted.begin(), sorted.begin() + channels / 2, sorted.end());
    const double usual = sorted[static_cast<size_t>(channels / 2)];
    const auto top = std::max_element(largest.begin(), largest.end());
    if (!(usual > 0) || (widest && *top / usual <= widest->ratio)) continue;
    ChannelSpread spread{static_cast<int64_t>(axis), top - largest.begin(), *top / usual};
    // Channels of the outlier's own size do not count as others.
    double others_dd = 0, others_gg = 0;
    size_t others = 0;
    for (size_t c = 0; c < largest.size(); ++c) {
      if (largest[c] * 4 >= *top) continue;
      others_dd += dd[c];
      others_gg += gg[c];
      ++others;
    }
    if (others_gg > 0) {
      const size_t elements = others * (values.golden.size() / largest.size());
      spread.others_error = std::sqrt(others_dd / others_gg);
      spread.others_size = std::sqrt(others_gg / static_cast<double>(elements));
    }
    widest = spread;
  }
  return widest;
}

std::optional<OneChannel> one_channel(const compare::PairValues& values) {
  if (!values.is_aligned() || !values.is_whole) return {};
  size_t inner = values.golden.size();
  for (size_t axis = 0; axis < values.golden_shape.size(); ++axis) {
    const auto channels = static_cast<size_t>(values.golden_shape[axis]);
    if (channels == 0) return {};
    inner /= channels;
    if (channels < 4 || values.golden.size() < 8 * channels) continue;
    std::vector<double> dd(channels, 0), gg = dd, tg = dd;
    double all = 0;
    for (size_t i = 0; i < values.golden.size(); ++i) {
      const size_t channel = (i / inner) % channels;
      const double t = values.target[i], g = values.golden[i];
      dd[channel] += (t - g) * (t - g);
      gg[channel] += g * g;
      tg[channel] += t * g;
      all += (t - g) * (t - g);
    }
    const auto worst = static_cast<size_t>(std::max_element(dd.begin(), dd.end()) - dd.begin());
    constexpr double kNearlyAll = 0.98;
    if (all > 0 && dd[worst] >= kNearlyAll * all)
      return OneChannel{static_cast<int64_t>(axis), static_cast<int64_t>(worst),
                        static_cast<int64_t>(channels), dd[worst] / all,
                        gg[worst] > 0 ? tg[worst] / gg[worst] : 1};
  }
  return {};
}

}  // namespace plumb::diagnose
