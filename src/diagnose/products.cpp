// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices: of two tensors, and of one with weights that nobody dumped. The latter are
// found on golden by least squares, where it shows more positions than there are weights: then a
// convolution needs no model to be replayed.
#include <algorithm>
#include <cmath>

#include "diagnose/function_families.h"

namespace plumb::diagnose {
namespace {

size_t places(const Shape& shape, size_t axes_from_end) {
  size_t count = 1;
  for (size_t axis = 0; axis + axes_from_end < shape.size(); ++axis)
    count *= static_cast<size_t>(shape[axis]);
  return count;
}

// What a linear operator reads at each position: rows of features, the last of them 1.
struct Features {
  size_t rows = 0, columns = 0;
  Numbers values;
  std::span<const double> row(size_t i) const { return {values.data() + i * columns, columns}; }
};

// How the output of an operator is made of what it reads.
struct Layout {
  size_t rows = 0, columns = 0;              // positions, and weights of each output channel
  size_t channels = 0;                       // of the output ...
  bool is_separate = false;                  // ... each from its own channel of the input
  int64_t size = 0, stride = 1, before = 0;  // of a window; size 0: a dense layer
};

// The input around every position; of a separate channel only its own.
Features features_of(const Layout& layout, const Seen& input, const Seen& output, bool is_golden,
                     size_t channel) {
  Features made{layout.rows, layout.columns, Numbers(layout.rows * layout.columns, 0)};
  const Numbers& x = input.of(is_golden);
  if (layout.size == 0) {
    const size_t width = layout.columns - 1;
    for (size_t row = 0; row < layout.rows; ++row) {
      for (size_t k = 0; k < width; ++k) made.values[row * layout.columns + k] = x[row * width + k];
      made.values[row * layout.columns + width] = 1;
    }
    return made;
  }
  const int64_t all = input.length(1), height = input.length(2), width = input.length(3);
  const int64_t out_height = output.length(2), out_width = output.length(3);
  const auto first = static_cast<int64_t>(layout.is_separate ? channel : 0);
  const int64_t end = layout.is_separate ? first + 1 : all;
  for (size_t row = 0; row < layout.rows; ++row) {
    const auto at = static_cast<int64_t>(row);
    const int64_t n = at / (out_height * out_width), y = at / out_width % out_height,
                  z = at % out_width;
    double* to = made.values.data() + row * layout.columns;
    for (int64_t c = first; c < end; ++c)
      for (int64_t i = 0; i < layout.size; ++i)
        for (int64_t j = 0; j < layout.size; ++j, ++to) {
          const int64_t v = y * layout.stride - layout.before + i,
                        h = z * layout.stride - layout.before + j;
          if (v >= 0 && h >= 0 && v < height && h < width)
            *to = x[static_cast<size_t>(((n * all + c) * height + v) * width + h)];
        }
    *to = 1;
  }
  return made;
}

// Where an output channel has its value at a position.
size_t place_of(const Layout& layout, size_t row, size_t channel, size_t plane) {
  return layout.size == 0 ? row * layout.channels + channel
                          : (row / plane * layout.channels + channel) * plane + row % plane;
}

// Solves for weights by normal equations. nullopt if golden leaves some of them open.
class Equations {
 public:
  explicit Equations(size_t columns)
      : columns_(columns), gram_(columns * columns, 0), right_(columns, 0) {}

  void add_row(std::span<const double> x) {
    for (size_t i = 0; i < columns_; ++i) {
      if (x[i] == 0) continue;
      double* to = gram_.data() + i * columns_;
      for (size_t j = 0; j <= i; ++j) to[j] += x[i] * x[j];
    }
  }
  void add_right(std::span<const double> x, double y) {
    for (size_t i = 0; i < columns_; ++i) right_[i] += x[i] * y;
  }
  void clear_right() { std::fill(right_.begin(), right_.end(), 0); }

  // Cholesky, on columns that were scaled to length 1. What is zero throughout takes no part.
  bool factor() {
    scale_.assign(columns_, 0);
    for (size_t i = 0; i < columns_; ++i)
      if (const double d = gram_[i * columns_ + i]; d > 0) scale_[i] = 1 / std::sqrt(d);
    constexpr double kLeast = 1e-9;  // what rounding leaves of a column that others explain
    for (size_t i = 0; i < columns_; ++i) {
      if (scale_[i] == 0) continue;
      double* row = gram_.data() + i * columns_;
      for (size_t j = 0; j <= i; ++j) {
        if (scale_[j] == 0) continue;
        const double* other = gram_.data() + j * columns_;
        double sum = row[j] * scale_[i] * scale_[j];
        for (size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
        if (j < i) {
          row[j] = sum / other[j];
        } else if (sum < kLeast) {
          return false;
        } else {
          row[j] = std::sqrt(sum);
        }
      }
    }
    return true;
  }
  bool uses(size_t column) const { return scale_[column] != 0; }

  Numbers solve() const {
    Numbers w(columns_, 0);
    for (size_t i = 0; i < columns_; ++i) {
      if (!uses(i)) continue;
      double sum = right_[i] * scale_[i];
      for (size_t k = 0; k < i; ++k) sum -= gram_[i * columns_ + k] * w[k];
      w[i] = sum / gram_[i * columns_ + i];
    }
    for (size_t i = columns_; i-- > 0;) {
      if (!uses(i)) continue;
      double sum = w[i];
      for (size_t k = i + 1; k < columns_; ++k)
        if (uses(k)) sum -= gram_[k * columns_ + i] * w[k];
      w[i] = sum / gram_[i * columns_ + i];
    }
    for (size_t i = 0; i < columns_; ++i) w[i] *= scale_[i];
    return w;
  }

 private:
  size_t columns_;
  Numbers gram_, right_, scale_;
};

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Columns that golden never shows must be zero in the target, too: their weights are not known.
bool is_covered(const Equations& equations, const Features& target) {
  for (size_t column = 0; column < target.columns; ++column) {
    if (equations.uses(column)) continue;
    for (size_t row = 0; row < target.rows; ++row)
      if (target.values[row * target.columns + column] != 0) return false;
  }
  return true;
}

// One attempt: the layout, what is added behind the product (null: nothing), and whether only
// positive outputs tell (a Relu or another slope stands behind it).
class Fit {
 public:
  Fit(const Example& example, const Layout& layout, const Seen& input, const Seen* added,
      bool only_positive)
      : example_(example),
        layout_(layout),
        input_(input),
        added_(added),
        only_positive_(only_positive),
        plane_(layout.size == 0
                   ? 1
                   : static_cast<size_t>(example.output.length(2) * example.output.length(3))) {}

  std::optional<Should> run() {
    inner_.golden.resize(example_.count());
    inner_.target.resize(example_.count());
    const size_t turns = layout_.is_separate ? layout_.channels : 1;
    for (size_t turn = 0; turn < turns; ++turn)
      if (!fit(turn)) return {};
    const auto inner = [&](bool is_golden, size_t i) {
      return (is_golden ? inner_.golden : inner_.target)[i];
    };
    const double slope = only_positive_ ? negative_slope(example_, inner) : 1;
    return by_element(example_, [&](bool is_golden, size_t i) {
      const double z = inner(is_golden, i);
      return z < 0 ? slope * z : z;
    });
  }

 private:
  bool is_used(size_t place) const {
    return !only_positive_ || (*example_.output.golden)[place] > 0;
  }
  double wanted(size_t place) const {
    return (*example_.output.golden)[place] - (added_ != nullptr ? (*added_->golden)[place] : 0);
  }

  bool fit(size_t turn) {
    const Features golden = features_of(layout_, input_, example_.output, true, turn);
    const Features target = features_of(layout_, input_, example_.output, false, turn);
    Equations shared(layout_.columns);
    if (!only_positive_) {
      for (size_t row = 0; row < golden.rows; ++row) shared.add_row(golden.row(row));
      if (!shared.factor() || !is_covered(shared, target)) return false;
    }
    const size_t first = layout_.is_separate ? turn : 0;
    const size_t end = layout_.is_separate ? turn + 1 : layout_.channels;
    for (size_t channel = first; channel < end; ++channel)
      if (!fit_channel(channel, golden, target, shared)) return false;
    return true;
  }

  bool fit_channel(size_t channel, const Features& golden, const Features& target,
                   Equations& shared) {
    Equations own(only_positive_ ? layout_.columns : 0);
    Equations& equations = only_positive_ ? own : shared;
    equations.clear_right();
    size_t used = 0;
    for (size_t row = 0; row < golden.rows; ++row) {
      const size_t place = place_of(layout_, row, channel, plane_);
      if (!is_used(place)) continue;
      if (only_positive_) own.add_row(golden.row(row));
      equations.add_right(golden.row(row), wanted(place));
      ++used;
    }
    if (used == 0 && only_positive_) {  // a channel that is off everywhere shows nothing
      for (size_t row = 0; row < golden.rows; ++row) set(row, channel, -1, -1);
      return true;
    }
    if (used < layout_.columns + layout_.columns / 4) return false;
    if (only_positive_ && (!own.factor() || !is_covered(own, target))) return false;
    const Numbers weights = equations.solve();
    for (size_t row = 0; row < golden.rows; ++row)
      set(row, channel, dot(golden.row(row), weights), dot(target.row(row), weights));
    return true;
  }

  void set(size_t row, size_t channel, double golden, double target) {
    const size_t place = place_of(layout_, row, channel, plane_);
    inner_.golden[place] = golden + (added_ != nullptr ? (*added_->golden)[place] : 0);
    inner_.target[place] = target + (added_ != nullptr ? (*added_->target)[place] : 0);
  }

  const Example& example_;
  const Layout& layout_;
  const Seen& input_;
  const Seen* added_;
  bool only_positive_;
  size_t plane_;
  Should inner_;
};

// The layouts that shapes allow, those with the fewest weights first.
std::vector<Layout> layouts_of(const Seen& input, const Seen& output) {
  std::vector<Layout> found;
  const auto add = [&](Layout layout) {
    constexpr size_t kMostColumns = 600;
    if (layout.columns <= kMostColumns && layout.rows >= layout.columns + layout.columns / 4)
      found.push_back(layout);
  };
  const Shape &from = input.shape, &to = output.shape;
  if (from.empty() || to.empty()) return found;
  if (from.size() == to.size() && places(from, 1) == places(to, 1))
    add({places(to, 1), static_cast<size_t>(from.back()) + 1, static_cast<size_t>(to.back()), false,
         0, 1, 0});
  if (from.size() != 4 || to.size() != 4 || from[0] != to[0] || to[2] < 1 || to[3] < 1)
    return found;
  const auto rows = static_cast<size_t>(to[0] * to[2] * to[3]);
  for (const bool is_separate : {true, false}) {
    if (is_separate && from[1] != to[1]) continue;
    for (const int64_t size : {1, 3, 5, 7})
      for (const int64_t before : {size / 2, int64_t{0}})
        for (const int64_t stride : {1, 2, 4}) {
          const auto fits = [&](size_t axis) {
            return (from[axis] + 2 * before - size) / stride + 1 == to[axis];
          };
          if (!fits(2) || !fits(3) || (size == 1 && is_separate)) continue;
          const auto weights = static_cast<size_t>(size * size * (is_separate ? 1 : from[1])) + 1;
          add({rows, weights, static_cast<size_t>(to[1]), is_separate, size, stride, before});
          if (before == 0) break;
        }
  }
  return found;
}

int64_t cost_of(const Layout& layout, bool only_positive) {
  const auto rows = static_cast<int64_t>(layout.rows),
             columns = static_cast<int64_t>(layout.columns),
             channels = static_cast<int64_t>(layout.channels);
  const int64_t equations = rows * columns * columns / 2 + columns * columns * columns / 6;
  return equations * (only_positive || layout.is_separate ? channels : 1) +
         3 * channels * rows * columns;
}

std::optional<Should> product(const Example& example, bool is_turned) {
  const Seen &a = example.inputs[0], &b = example.inputs[1];
  const size_t rank = example.output.shape.size();
  if (rank < 2 || a.shape.size() != rank || b.shape.size() != rank) return {};
  const auto m = static_cast<size_t>(a.shape[rank - 2]), k = static_cast<size_t>(a.shape[rank - 1]);
  const auto n = static_cast<size_t>(b.shape[is_turned ? rank - 2 : rank - 1]);
  const auto rows = static_cast<size_t>(b.shape[is_turned ? rank - 1 : rank - 2]);
  const size_t batch = places(a.shape, 2);
  if (rows != k || batch != places(b.shape, 2) || batch * m * n != example.count() ||
      static_cast<size_t>(example.output.shape[rank - 1]) != n || k == 0)
    return {};
  if (!example.may_spend(static_cast<int64_t>(2 * batch * m * n * k))) return {};
  const auto element = [&](bool is_golden, size_t i) {
    const size_t column = i % n, row = i / n % m, part = i / n / m;
    const double* left = a.of(is_golden).data() + (part * m + row) * k;
    const double* right = b.of(is_golden).data() + part * k * n + (is_turned ? column * k : column);
    const size_t step = is_turned ? 1 : n;
    double sum = 0;
    for (size_t p = 0; p < k; ++p) sum += left[p] * right[p * step];
    return sum;
  };
  // A factor is often applied to it at once.
  double pp = 0, py = 0;
  for (size_t i = 0; i < example.count(); i += example.count() / 48 + 1) {
    const double p = element(true, i);
    pp += p * p;
    py += p * (*example.output.golden)[i];
  }
  const double factor = pp > 0 ? py / pp : 1;
  return by_element(example,
                    [&](bool is_golden, size_t i) { return factor * element(is_golden, i); });
}

}  // namespace

std::optional<Should> product_of_two(const Example& example) {
  if (example.inputs.size() != 2) return {};
  for (const bool is_turned : {false, true})
    if (auto found = product(example, is_turned)) return found;
  return {};
}

std::optional<Should> linear(const Example& example) {
  if (example.inputs.empty() || example.inputs.size() > 2) return {};
  for (size_t k = 0; k < example.inputs.size(); ++k) {
    const Seen* added = example.inputs.size() == 2 ? &example.inputs[1 - k] : nullptr;
    if (added != nullptr && added->golden->size() != example.count()) continue;
    for (const Layout& layout : layouts_of(example.inputs[k], example.output))
      for (const bool only_positive : {false, true}) {
        if (only_positive && !is_mostly_positive(example)) continue;
        if (!example.may_spend(cost_of(layout, only_positive))) continue;
        if (auto found = Fit(example, layout, example.inputs[k], added, only_positive).run())
          return found;
      }
  }
  return {};
}

}  // namespace plumb::diagnose
