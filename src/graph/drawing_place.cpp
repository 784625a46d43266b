// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of a piece stand, by Brandes and Köpf ("Fast and simple horizontal coordinate
// assignment", 2001): each element is put below or above the middle one of its neighbours as far as
// nothing crosses, in four ways, from the left and right, downwards and upwards; the average of the
// middle two is balanced, and long lines are straight.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "graph/drawing_piece.h"

namespace plumb::graph {
namespace {

class Placing {
 public:
  Placing(const Piece& piece, const std::vector<int32_t>& order, const Spacing& spacing)
      : piece_(piece), order_(order), spacing_(spacing), position_(order.size()) {
    for (size_t r = 0; r < piece.rows(); ++r)
      for (size_t i = start(r); i < start(r + 1); ++i)
        position_[index(order[i])] = static_cast<int32_t>(i - start(r));
    below_ = piece.below;
    above_.resize(below_.size());
    for (size_t r = 0; r < piece.rows(); ++r)  // by position, so that lists above are sorted
      for (size_t i = start(r); i < start(r + 1); ++i)
        for (const int32_t other : below_[index(order[i])])
          above_[index(other)].push_back(order[i]);
    for (auto& list : below_)
      std::sort(list.begin(), list.end(),
                [&](int32_t a, int32_t b) { return position_[index(a)] < position_[index(b)]; });
    find_conflicts();
  }

  std::vector<float> run() {
    std::array<std::vector<double>, 4> ways;
    for (size_t way = 0; way < 4; ++way) ways[way] = placed(way < 2, way % 2 == 0);
    const auto narrowest = std::min_element(ways.begin(), ways.end(), [&](auto& a, auto& b) {
      const auto [a_low, a_high] = ends(a);
      const auto [b_low, b_high] = ends(b);
      return a_high - a_low < b_high - b_low;
    });
    const auto [low, high] = ends(*narrowest);
    for (size_t way = 0; way < 4; ++way) {
      const auto [own_low, own_high] = ends(ways[way]);
      const double shift = way % 2 == 0 ? low - own_low : high - own_high;
      for (double& x : ways[way]) x += shift;
    }
    std::vector<float> middle(order_.size());
    for (size_t i = 0; i < middle.size(); ++i) {
      std::array<double, 4> x{ways[0][i], ways[1][i], ways[2][i], ways[3][i]};
      std::sort(x.begin(), x.end());
      middle[i] = static_cast<float>((x[1] + x[2]) / 2);
    }
    set_on_axis(middle);
    return middle;
  }

 private:
  static size_t index(int32_t element) { return static_cast<size_t>(element); }
  size_t start(size_t r) const { return index(piece_.row[r]); }
  bool is_bend(int32_t element) const { return piece_.is_bend[index(element)] != 0; }
  double half(int32_t element) const { return is_bend(element) ? 0 : spacing_.node / 2; }

  double separation(int32_t a, int32_t b) const {
    const double gap = is_bend(a) && is_bend(b)   ? spacing_.bend_gap
                       : is_bend(a) || is_bend(b) ? spacing_.node_bend_gap
                                                  : spacing_.node_gap;
    return half(a) + half(b) + gap;
  }

  std::pair<double, double> ends(const std::vector<double>& x) const {
    double low = 1e300, high = -1e300;
    for (int32_t i = 0; i < piece_.size(); ++i) {
      low = std::min(low, x[index(i)] - half(i));
      high = std::max(high, x[index(i)] + half(i));
    }
    return {low, high};
  }

  // A line that crosses one between two bends gives way: long lines stay straight.
  void find_conflicts() {
    conflicts_.resize(order_.size());
    for (size_t r = 0; r + 1 < piece_.rows(); ++r) {
      const int32_t last = piece_.width(r) - 1;
      int32_t left = -1;
      size_t checked = start(r + 1);
      for (size_t i = start(r + 1); i < start(r + 2); ++i) {
        const int32_t inner = inner_above(order_[i]);
        if (inner < 0 && i + 1 < start(r + 2)) continue;
        const int32_t right = inner >= 0 ? inner : last + 1;
        for (; checked <= i; ++checked)
          for (const int32_t upper : above_[index(order_[checked])]) {
            const int32_t place = position_[index(upper)];
            if ((place < left || place > right) && !(is_bend(upper) && is_bend(order_[checked])))
              conflicts_[index(order_[checked])].push_back(upper);
          }
        left = right;
      }
    }
  }

  // The position of the bend above a bend; -1 if there is none.
  int32_t inner_above(int32_t element) const {
    if (!is_bend(element)) return -1;
    for (const int32_t upper : above_[index(element)])
      if (is_bend(upper)) return position_[index(upper)];
    return -1;
  }
  bool conflicts(int32_t upper, int32_t lower) const {
    const auto& list = conflicts_[index(lower)];
    return std::find(list.begin(), list.end(), upper) != list.end();
  }

  // Each element with the middle one of its neighbours: chains that stand at one place.
  std::vector<int32_t> aligned(bool goes_down, bool from_left) const {
    std::vector<int32_t> root(order_.size()), chain(order_.size());
    std::iota(root.begin(), root.end(), 0);
    chain = root;
    for (size_t k = 0; k < piece_.rows(); ++k) {
      const size_t r = goes_down ? k : piece_.rows() - 1 - k;
      const size_t width = index(piece_.width(r));
      int32_t limit = from_left ? -1 : piece_.size();
      for (size_t i = 0; i < width; ++i) {
        const int32_t element = order_[start(r) + (from_left ? i : width - 1 - i)];
        const auto& near = goes_down ? above_[index(element)] : below_[index(element)];
        if (near.empty()) continue;
        const size_t low = (near.size() - 1) / 2, high = near.size() / 2;
        for (const size_t middle : {from_left ? low : high, from_left ? high : low}) {
          if (chain[index(element)] != element) break;
          const int32_t other = near[middle], place = position_[index(other)];
          const bool is_barred = goes_down ? conflicts(other, element) : conflicts(element, other);
          if (is_barred || !(from_left ? limit < place : limit > place)) continue;
          chain[index(other)] = element;
          root[index(element)] = root[index(other)];
          chain[index(element)] = root[index(element)];
          limit = place;
        }
      }
    }
    return root;
  }

  // Chains as far to one side as their neighbours allow, then back where there is slack.
  std::vector<double> placed(bool goes_down, bool from_left) const {
    const std::vector<int32_t> root = aligned(goes_down, from_left);
    std::vector<std::vector<std::pair<int32_t, double>>> beyond(order_.size());
    std::vector<int32_t> before(order_.size());
    for (size_t r = 0; r < piece_.rows(); ++r)
      for (size_t i = start(r); i + 1 < start(r + 1); ++i) {
        int32_t a = root[index(order_[i])], b = root[index(order_[i + 1])];
        if (!from_left) std::swap(a, b);
        beyond[index(a)].push_back({b, separation(order_[i], order_[i + 1])});
        ++before[index(b)];
      }
    std::vector<int32_t> free, sorted;
    for (int32_t i = 0; i < piece_.size(); ++i)
      if (root[index(i)] == i && before[index(i)] == 0) free.push_back(i);
    std::vector<double> at(order_.size());
    while (!free.empty()) {
      const int32_t chain = free.back();
      free.pop_back();
      sorted.push_back(chain);
      for (const auto& [other, gap] : beyond[index(chain)]) {
        at[index(other)] = std::max(at[index(other)], at[index(chain)] + gap);
        if (--before[index(other)] == 0) free.push_back(other);
      }
    }
    for (auto chain = sorted.rbegin(); chain != sorted.rend(); ++chain) {
      double most = 1e300;
      for (const auto& [other, gap] : beyond[index(*chain)])
        most = std::min(most, at[index(other)] - gap);
      if (most < 1e299) at[index(*chain)] = std::max(at[index(*chain)], most);
    }
    std::vector<double> x(order_.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = (from_left ? 1 : -1) * at[index(root[i])];
    return x;
  }

  // Rows of one element at either end stand above each other: pieces are stacked there.
  void set_on_axis(std::vector<float>& x) const {
    const bool first = piece_.width(0) == 1, last = piece_.width(piece_.rows() - 1) == 1;
    float axis = 0;
    if (first && last)
      axis = (x.front() + x.back()) / 2;
    else if (first)
      axis = x.front();
    else if (last)
      axis = x.back();
    if (first) x.front() = axis;
    if (last) x.back() = axis;
    for (float& each : x) each -= axis;
  }

  const Piece& piece_;
  const std::vector<int32_t>& order_;
  const Spacing& spacing_;
  std::vector<int32_t> position_;
  std::vector<std::vector<int32_t>> above_, below_, conflicts_;
};

}  // namespace

std::vector<float> place_piece(const Piece& piece, const std::vector<int32_t>& order,
                               const Spacing& spacing) {
  return Placing(piece, order, spacing).run();
}

}  // namespace plumb::graph
