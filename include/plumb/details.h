// SPDX-License-Identifier: Apache-2.0
//
// A closer look at one pair of tensors, of bounded size whatever theirs: where the values lie,
// which channels and which places are wrong. Gathered in the one pass when a report is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::metrics {

inline constexpr int64_t kMostBins = 64, kMostChannels = 256, kMostHeatCells = 32;
inline constexpr int64_t kHeatLevels = 63, kMostWorst = 8;

// Equal bins from `low` to `high`, the same for both sides. Values that are not finite are left
// out.
struct PairHistogram {
  double low = 0, high = 0;
  std::vector<int64_t> target, golden;
  bool operator==(const PairHistogram&) const = default;
};

// Root mean squares along an axis, by groups of `each` neighbours of it.
struct ChannelErrors {
  int64_t axis = 0, size = 0, each = 1;
  std::vector<double> error, golden;
  bool operator==(const ChannelErrors&) const = default;
};

// The tensor as outer axes by inner axes. Each cell is the largest |error| of its elements: 0 if
// there is none, else largest * 10^((level - 63) / 10.5), down to six decades.
struct HeatMap {
  int64_t rows = 0, columns = 0;
  double largest = 0;
  std::vector<uint8_t> levels;
  bool operator==(const HeatMap&) const = default;
};

struct WorstElement {
  std::vector<int64_t> index;
  double target = 0, golden = 0;
  bool operator==(const WorstElement&) const = default;
};

struct Details {
  std::optional<PairHistogram> histogram;
  std::optional<ChannelErrors> channels;
  std::optional<HeatMap> heat;
  std::vector<WorstElement> worst;  // the largest |error| first
  bool operator==(const Details&) const = default;
};

}  // namespace plumb::metrics
#pragma GCC visibility pop
