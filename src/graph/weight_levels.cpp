// SPDX-License-Identifier: Apache-2.0
#include "graph/weight_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "graph/weight_diff.h"
#include "graph/weight_pairs.h"

namespace plumb::graph {
namespace {

constexpr size_t kMostLevels = 65536;     // of a whole tensor
constexpr size_t kMostSliceLevels = 256;  // of a slice: it has fewer numbers
constexpr double kMostOff = 1.001;  // steps that rounding moves a number: down, not to nearest
constexpr double kOffGrid = 0.05;   // steps from a level that are no rounding error
constexpr int64_t kFewNumbers = 8;

using Distinct = std::unordered_set<uint64_t>;  // bits of doubles, with one zero only

void add(Distinct& distinct, double value) {
  distinct.insert(std::bit_cast<uint64_t>(value == 0 ? 0.0 : value));
}

std::vector<double> sorted(const Distinct& distinct) {
  std::vector<double> values;
  for (const uint64_t bits : distinct) values.push_back(std::bit_cast<double>(bits));
  std::sort(values.begin(), values.end());
  return values;
}

struct Grid {
  double low = 0, high = 0, step = 0;

  double off(double value) const {  // steps to the nearest level
    const double place = (value - low) / step;
    return std::fabs(place - std::nearbyint(place));
  }
};

// The largest step of which all distances between the values are multiples, by Euclid's algorithm
// on numbers that are rounded: what is left below a quarter of the finest step is an error.
std::optional<Grid> grid_of(const std::vector<double>& values, double rounding, size_t most) {
  if (values.size() < 3) return std::nullopt;
  Grid grid{values.front(), values.back(), 0};
  const double largest = std::max(std::fabs(grid.low), std::fabs(grid.high));
  const double blur = 4 * rounding * largest;
  const double finest = std::max(8 * blur, (grid.high - grid.low) / static_cast<double>(4 * most));
  for (size_t i = 1; i < values.size(); ++i) {
    double a = grid.step, b = values[i] - values[i - 1];
    while (b > finest) {
      const double rest = a - b * std::nearbyint(a / b);
      a = b;
      b = std::fabs(rest);
    }
    grid.step = a;
  }
  if (grid.step <= 0) return std::nullopt;
  const double steps = std::nearbyint((grid.high - grid.low) / grid.step);
  if (steps < 2 || steps >= static_cast<double>(most)) return std::nullopt;
  grid.step = (grid.high - grid.low) / steps;  // the error of a sum of all is that of one
  const double allowed = 2 * blur / grid.step;
  if (allowed > kOffGrid) return std::nullopt;
  const bool fits = std::all_of(values.begin(), values.end(),
                                [&](double value) { return grid.off(value) <= allowed; });
  return fits ? std::optional(grid) : std::nullopt;
}

// How the numbers agree with rounding to a grid.
struct Fit {
  int64_t near = 0, far = 0, off_grid = 0;

  void add(const Grid& grid, double rounded, double original) {
    const bool is_clipped = (rounded == grid.low && original < grid.low) ||
                            (rounded == grid.high && original > grid.high);
    ++(is_clipped || std::fabs(rounded - original) <= kMostOff * grid.step ? near : far);
    if (grid.off(original) > kOffGrid) ++off_grid;
  }
  bool is_good() const { return far * 100 <= near && off_grid * 5 >= near; }
};

std::optional<Levels> of_tensor(const ConstantTensor& rounded, const ConstantTensor& original) {
  Distinct own, theirs;
  const bool are_few = each_pair(rounded, original, [&](int64_t, double t, double g) {
    if (!std::isfinite(t)) return false;
    add(own, t);
    if (theirs.size() <= kMostLevels) add(theirs, g);
    return own.size() <= kMostLevels;
  });
  if (!are_few || rounded.elements() < kFewNumbers) return std::nullopt;
  Levels levels{static_cast<int64_t>(own.size()), {}, {}};
  for (const size_t most : {kMostSliceLevels, kMostLevels}) {
    const auto grid = grid_of(sorted(own), rounding_of(rounded.dtype()), most);
    if (!grid) continue;
    Fit fit;
    each_pair(rounded, original, [&](int64_t, double t, double g) {
      fit.add(*grid, t, g);
      return true;
    });
    levels.step = grid->step;
    if (fit.is_good()) return levels;
    levels.step.reset();
  }
  // Levels at any distance: many numbers share few.
  const bool is_coarse = own.size() <= kMostSliceLevels && theirs.size() >= 2 * own.size() &&
                         rounded.elements() >= 4 * levels.count;
  return is_coarse ? std::optional(levels) : std::nullopt;
}

std::optional<Levels> of_slices(const ConstantTensor& rounded, const ConstantTensor& original,
                                size_t axis) {
  const AxisIndex index(rounded.shape(), axis);
  if (index.size < 2 || rounded.elements() / index.size < 3) return std::nullopt;
  std::vector<Distinct> distinct(static_cast<size_t>(index.size));
  const bool are_few = each_pair(rounded, original, [&](int64_t i, double t, double) {
    Distinct& slice = distinct[index(i)];
    add(slice, t);
    return std::isfinite(t) && slice.size() <= kMostSliceLevels;
  });
  if (!are_few) return std::nullopt;
  Levels levels{0, 0.0, static_cast<int64_t>(axis)};
  std::vector<std::optional<Grid>> grids;
  int64_t telling = 0;  // slices with enough numbers to tell
  for (const Distinct& slice : distinct) {
    levels.count = std::max(levels.count, static_cast<int64_t>(slice.size()));
    grids.push_back(grid_of(sorted(slice), rounding_of(rounded.dtype()), kMostSliceLevels));
    if (slice.size() < 3) continue;
    if (!grids.back()) return std::nullopt;
    levels.step = std::max(*levels.step, grids.back()->step);
    if (slice.size() >= 4) ++telling;
  }
  if (telling * 2 < index.size) return std::nullopt;
  Fit fit;
  each_pair(rounded, original, [&](int64_t i, double t, double g) {
    if (const auto& grid = grids[index(i)]) fit.add(*grid, t, g);
    return true;
  });
  return fit.is_good() ? std::optional(levels) : std::nullopt;
}

}  // namespace

std::optional<Levels> find_levels(const ConstantTensor& rounded, const ConstantTensor& original) {
  if (auto levels = of_tensor(rounded, original)) return levels;
  for (size_t axis = 0; axis < rounded.shape().size(); ++axis)
    if (auto levels = of_slices(rounded, original, axis)) return levels;
  return std::nullopt;
}

}  // namespace plumb::graph
