// SPDX-License-Identifier: Apache-2.0
//
// The order of elements in the rows of a piece: sweeps down and up, in which each row is sorted by
// the medians of its neighbours, and neighbours that cross less the other way round are exchanged;
// from several starts, because a sweep only finds the next best.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "graph/drawing_piece.h"

namespace plumb::graph {
namespace {

constexpr int kMostSweeps = 24, kMostStarts = 12, kMostFailures = 6;
constexpr int64_t kMostWork = 1'500'000;  // lines looked at: bounds the time for one large piece

class Ordering {
 public:
  explicit Ordering(const Piece& piece)
      : piece_(piece), above_(piece.below.size()), position_(piece.below.size()) {
    for (int32_t i = 0; i < piece.size(); ++i)
      for (const int32_t other : below(i)) {
        above_[index(other)].push_back(i);
        ++lines_;
      }
  }

  std::vector<int32_t> best() {
    int64_t least = -1, work = 0;
    for (int start = 0; start < kMostStarts && least != 0 && work < kMostWork; ++start) {
      begin(start);
      int64_t crossings = count(), of_start = crossings;
      keep(crossings, least);
      int failures = 0;
      for (int sweep = 0; sweep < kMostSweeps && of_start > 0 && failures < kMostFailures;
           ++sweep) {
        work += 4 * lines_;
        sort_rows(sweep % 2 == 0, sweep / 2 % 2 == 1);
        exchange();
        crossings = count();
        keep(crossings, least);
        failures = crossings < of_start ? 0 : failures + 1;
        of_start = std::min(of_start, crossings);
      }
    }
    return best_;
  }

 private:
  static size_t index(int32_t element) { return static_cast<size_t>(element); }
  const std::vector<int32_t>& below(int32_t element) const { return piece_.below[index(element)]; }
  std::span<int32_t> row(size_t r) {
    return std::span(order_).subspan(index(piece_.row[r]), index(piece_.width(r)));
  }
  void renumber(std::span<int32_t> elements) {
    for (size_t i = 0; i < elements.size(); ++i)
      position_[index(elements[i])] = static_cast<int32_t>(i);
  }
  void keep(int64_t crossings, int64_t& least) {
    if (least >= 0 && crossings >= least) return;
    least = crossings;
    best_ = order_;
  }

  // By depth first search, from the left, from the right; then shuffled, always alike.
  void begin(int start) {
    order_.resize(index(piece_.size()));
    std::iota(order_.begin(), order_.end(), 0);
    if (start < 4) {
      search(start % 2 == 1, start >= 2);
    } else {
      uint64_t state = static_cast<uint64_t>(start) * 0x9E3779B97F4A7C15;
      for (size_t r = 0; r < piece_.rows(); ++r)
        for (std::span<int32_t> left = row(r); left.size() > 1;
             left = left.first(left.size() - 1)) {
          state = state * 6364136223846793005 + 1442695040888963407;
          std::swap(left.back(), left[(state >> 33) % left.size()]);
        }
    }
    for (size_t r = 0; r < piece_.rows(); ++r) renumber(row(r));
  }

  void search(bool is_mirrored, bool goes_up) {
    std::vector<uint8_t> is_seen(order_.size());
    std::vector<size_t> filled(piece_.rows());
    std::vector<size_t> row_of(order_.size());
    for (size_t r = 0; r < piece_.rows(); ++r)
      for (const int32_t element : row(r)) row_of[index(element)] = r;
    std::vector<int32_t> roots = order_, stack;
    if (is_mirrored != goes_up) std::reverse(roots.begin(), roots.end());
    for (const int32_t root : roots) {
      stack.push_back(root);
      while (!stack.empty()) {
        const int32_t element = stack.back();
        stack.pop_back();
        if (std::exchange(is_seen[index(element)], 1)) continue;
        const size_t r = row_of[index(element)];
        order_[index(piece_.row[r]) + filled[r]++] = element;
        const auto& next = goes_up ? above_[index(element)] : below(element);
        if (is_mirrored)
          stack.insert(stack.end(), next.begin(), next.end());
        else
          stack.insert(stack.end(), next.rbegin(), next.rend());
      }
    }
  }

  // Gansner's weighted median: between the middle two, nearer to the side where they lie close.
  double median(const std::vector<int32_t>& neighbours) {
    places_.clear();
    for (const int32_t other : neighbours) places_.push_back(position_[index(other)]);
    std::sort(places_.begin(), places_.end());
    const size_t n = places_.size(), middle = n / 2;
    if (n % 2 == 1) return places_[middle];
    if (n == 2) return (places_[0] + places_[1]) / 2.0;
    const double left = places_[middle - 1] - places_[0], right = places_[n - 1] - places_[middle];
    if (left + right == 0) return (places_[middle - 1] + places_[middle]) / 2.0;
    return (places_[middle - 1] * right + places_[middle] * left) / (left + right);
  }

  void sort_rows(bool goes_down, bool turns_equals) {
    std::vector<std::pair<double, int32_t>> keyed;
    const size_t rows = piece_.rows();
    for (size_t k = 1; k < rows; ++k) {
      const size_t r = goes_down ? k : rows - 1 - k;
      const std::span<int32_t> elements = row(r);
      if (elements.size() < 2) continue;
      const auto neighbours = [&](int32_t element) -> const std::vector<int32_t>& {
        return goes_down ? above_[index(element)] : below(element);
      };
      keyed.clear();
      for (const int32_t element : elements)
        if (!neighbours(element).empty()) keyed.push_back({median(neighbours(element)), element});
      if (turns_equals) std::reverse(keyed.begin(), keyed.end());
      std::stable_sort(keyed.begin(), keyed.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      size_t next = 0;  // what has no neighbours keeps its place
      for (int32_t& element : elements)
        if (!neighbours(element).empty()) element = keyed[next++].second;
      renumber(elements);
    }
  }

  // Crossings of the lines of two elements, the first being the left one.
  int64_t between(const std::vector<int32_t>& left, const std::vector<int32_t>& right) const {
    int64_t crossings = 0;
    for (const int32_t a : left)
      for (const int32_t b : right) crossings += position_[index(a)] > position_[index(b)];
    return crossings;
  }

  void exchange() {
    constexpr int kRounds = 4;
    constexpr size_t kMostPairs = 4096;
    for (int round = 0; round < kRounds; ++round) {
      bool is_better = false;
      for (size_t r = 0; r < piece_.rows(); ++r) {
        const std::span<int32_t> elements = row(r);
        for (size_t i = 0; i + 1 < elements.size(); ++i) {
          int32_t &a = elements[i], &b = elements[i + 1];
          const auto &up_a = above_[index(a)], &up_b = above_[index(b)];
          const auto &down_a = below(a), &down_b = below(b);
          if (up_a.size() * up_b.size() + down_a.size() * down_b.size() > kMostPairs) continue;
          const int64_t now = between(up_a, up_b) + between(down_a, down_b);
          if (now == 0 || between(up_b, up_a) + between(down_b, down_a) >= now) continue;
          std::swap(a, b);
          std::swap(position_[index(a)], position_[index(b)]);
          is_better = true;
        }
      }
      if (!is_better) return;
    }
  }

  int64_t count() {
    int64_t crossings = 0;
    for (size_t r = 0; r + 1 < piece_.rows(); ++r)
      if (piece_.width(r) > 1 && piece_.width(r + 1) > 1) crossings += count_below(r);
    return crossings;
  }

  // Lines from left to right; each crosses those before it that end further right (a Fenwick tree).
  int64_t count_below(size_t r) {
    const size_t width = index(piece_.width(r + 1));
    std::vector<int32_t> tree(width + 1);
    int64_t crossings = 0, seen = 0;
    for (const int32_t element : row(r)) {
      places_.clear();
      for (const int32_t other : below(element)) places_.push_back(position_[index(other)]);
      std::sort(places_.begin(), places_.end());
      for (const int32_t place : places_) {
        for (size_t i = index(place) + 1; i > 0; i &= i - 1) crossings -= tree[i];
        crossings += seen++;
        for (size_t i = index(place) + 1; i <= width; i += i & (~i + 1)) ++tree[i];
      }
    }
    return crossings;
  }

  const Piece& piece_;
  std::vector<std::vector<int32_t>> above_;
  std::vector<int32_t> order_, best_, position_, places_;
  int64_t lines_ = 0;
};

}  // namespace

std::vector<int32_t> order_piece(const Piece& piece) { return Ordering(piece).best(); }

}  // namespace plumb::graph
