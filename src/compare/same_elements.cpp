// SPDX-License-Identifier: Apache-2.0
#include "compare/same_elements.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compare/numbers.h"
#include "tensor/layout/layout.h"

namespace plumb::compare {
namespace {

constexpr size_t kMostAxes = 6;  // longer than 1: 720 orders
constexpr double kMostOff = 0.01;
constexpr int64_t kMostRearranged = int64_t{1} << 20;

size_t at(int64_t i) { return static_cast<size_t>(i); }

// Where an element of `shape`, by its place in plain order, lies if axes have these strides.
class Walk {
 public:
  Walk(const Shape& shape, Shape strides, int64_t start)
      : shape_(shape), strides_(std::move(strides)), index_(shape.size()), place_(start) {}
  int64_t place() const { return place_; }
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      place_ += strides_[axis];
      if (++index_[axis] < shape_[axis]) return;
      place_ -= shape_[axis] * strides_[axis];
      index_[axis] = 0;
    }
  }

 private:
  const Shape& shape_;
  Shape strides_;
  std::vector<int64_t> index_;
  int64_t place_ = 0;
};

// How much error there may be in all. Nothing of a constant, which agrees in any order.
double allowed(std::span<const double> golden) {
  const double count = static_cast<double>(golden.size());
  const double mean = std::accumulate(golden.begin(), golden.end(), 0.0) / count;
  double deviation = 0;
  for (const double value : golden) deviation += (value - mean) * (value - mean);
  return kMostOff * kMostOff * deviation;
}

// The target, walked as told, is golden in plain order.
bool is_golden(std::span<const double> target, Walk walk, std::span<const double> golden,
               double allowed) {
  double error = 0;
  for (const double value : golden) {
    const double off = target[at(walk.place())] - value;
    error += off * off;
    if (!(error <= allowed)) return false;
    walk.next();
  }
  return true;
}

// By all axes, where both have as many: those of length 1 stay in their order.
std::vector<size_t> with_ones(const std::vector<size_t>& order, const Shape& target,
                              const Shape& golden) {
  if (target.size() != golden.size()) return order;
  std::vector<size_t> ones, longer, all;
  for (size_t axis = 0; axis < golden.size(); ++axis)
    (golden[axis] == 1 ? ones : longer).push_back(axis);
  auto one = ones.begin();
  auto next = order.begin();
  for (const int64_t length : target) all.push_back(length == 1 ? *one++ : longer[*next++]);
  return all;
}

// The order of golden's axes, without those of length 1.
std::optional<std::vector<size_t>> transposed(std::span<const double> target, const Shape& ts,
                                              std::span<const double> golden, const Shape& gs,
                                              double most) {
  if (gs.size() < 2 || gs.size() > kMostAxes || ts.size() != gs.size()) return std::nullopt;
  const Shape strides = row_major_strides(ts);
  std::vector<size_t> order(gs.size());  // axis k of the target is this axis of golden
  std::iota(order.begin(), order.end(), size_t{0});
  while (std::next_permutation(order.begin(), order.end())) {
    bool fits = true;
    Shape steps(gs.size());
    for (size_t k = 0; k < order.size(); ++k) {
      fits &= ts[k] == gs[order[k]];
      steps[order[k]] = strides[k];
    }
    if (fits && is_golden(target, Walk(gs, steps, 0), golden, most)) return order;
  }
  return std::nullopt;
}

// The smaller one as a block of the larger one, at its beginning or in its middle, among zeros.
bool is_padded(std::span<const double> large, const Shape& large_shape,
               std::span<const double> small, const Shape& small_shape, double most) {
  if (small_shape.empty() || large_shape.size() != small_shape.size()) return false;
  const Shape strides = row_major_strides(large_shape);
  double all = 0, inside = 0;
  for (const double value : large) all += std::abs(value);
  for (const int64_t share : {0, 2}) {
    int64_t start = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      const int64_t added = large_shape[axis] - small_shape[axis];
      if (added < 0) return false;
      if (share != 0) start += added / share * strides[axis];
    }
    if (!is_golden(large, Walk(small_shape, strides, start), small, most)) continue;
    Walk walk(small_shape, strides, start);
    inside = 0;
    for (size_t i = 0; i < small.size(); ++i, walk.next())
      inside += std::abs(large[at(walk.place())]);
    if (all - inside <= 1e-12 * all) return true;
  }
  return false;
}

}  // namespace

std::optional<SameElements> same_elements(std::span<const double> target, const Shape& target_shape,
                                          std::span<const double> golden,
                                          const Shape& golden_shape) {
  const Shape ts = squeezed(target_shape), gs = squeezed(golden_shape);
  const double most = allowed(golden);
  if (target.empty() || golden.empty() || !(most > 0) || !std::isfinite(most)) return std::nullopt;
  if (target.size() == golden.size()) {
    const Shape flat{std::ssize(golden)};
    if (is_golden(target, Walk(flat, {1}, 0), golden, most))
      return SameElements{"flattened", "the same elements in the same order"};
    const auto order = transposed(target, ts, golden, gs, most);
    if (!order) return std::nullopt;
    return SameElements{"transposed",
                        fmt::format("the same elements with golden's axes in the order {}",
                                    fmt::join(with_ones(*order, target_shape, golden_shape), ","))};
  }
  if (is_padded(target, ts, golden, gs, most))
    return SameElements{"padded", "the target holds golden as a block, and zeros around it"};
  if (is_padded(golden, gs, target, ts, std::min(most, allowed(target))))
    return SameElements{"padded", "golden holds the target as a block, and zeros around it"};
  return std::nullopt;
}

void tell_same_elements(dump::EntryReader& target, dump::EntryReader& golden, result::Row& row) {
  if (std::max(target.reader().count(), golden.reader().count()) > kMostRearranged) return;
  const auto own = numbers_of(target, kMostRearranged), other = numbers_of(golden, kMostRearranged);
  if (!own || !other) return;
  const auto same = same_elements(*own, target.reader().shape(), *other, golden.reader().shape());
  if (!same) return;
  row.reasons.emplace_back(same->reason);
  row.message += "; " + same->message;
}

}  // namespace plumb::compare
