// SPDX-License-Identifier: Apache-2.0
//
// The 1-Wasserstein distance between the values of target and those of golden, whatever their
// places: how far a value would have to move on average to turn one distribution into the other, as
// a share of golden's range. Scale, offset and clipping show in it, noise around zero hardly does.
// Values within golden's range count as the nearest of 2049 points of it, so that a table holds
// them.
#include <algorithm>
#include <vector>

#include "metrics/detail_block.h"
#include "metrics/finish.h"

namespace plumb::metrics {
namespace {

constexpr int64_t kSteps = 2048;

class Transport {
 public:
  // Golden is not constant.
  explicit Transport(const PairSums& first) : surplus_(kSteps + 1) {
    const double largest = std::max(std::fabs(first.g_min), std::fabs(first.g_max));
    map_.scale = std::ldexp(1, -std::clamp(std::ilogb(largest), -1022, 1022));
    map_.min = first.g_min * map_.scale;
    map_.last = static_cast<double>(kSteps);
    map_.steps = map_.last / (first.g_max * map_.scale - map_.min);
  }

  void add(const double* target, const double* golden, int64_t count) {
    beyond_ += transport_block(target, golden, count, map_, surplus_.data());
  }
  void add(const float* target, const float* golden, int64_t count) {
    beyond_ += transport_block(target, golden, count, map_, surplus_.data());
  }

  void append(const Transport& later) {
    for (size_t i = 0; i < surplus_.size(); ++i) surplus_[i] += later.surplus_[i];
    beyond_ += later.beyond_;
  }

  // What is too much up to a point has to move on to the next.
  double distance(int64_t count) const {
    int64_t carried = 0, moved = 0;
    for (const int64_t surplus : surplus_) moved += std::abs(carried += surplus);
    return (static_cast<double>(moved) + beyond_) / static_cast<double>(count) / kSteps;
  }

 private:
  std::vector<int64_t> surplus_;  // at each point, of target's values over golden's
  double beyond_ = 0;             // steps from target's values outside to golden's range
  StepMap map_;
};

bool is_constant(const PairSums& s) { return s.g_min == s.g_max; }

}  // namespace

extern const Accumulator kWasserstein;
constinit const Accumulator kWasserstein{[](const PairFacts& first, bool) {
  const PairSums& s = first.sums;
  const bool is_settled = equal_where_finite(s) || is_constant(s);
  return is_settled ? nullptr : accumulated(Transport(s));
}};

Value wasserstein(const PairFacts& facts) {
  const PairSums& s = facts.sums;
  if (const char* why = nothing_finite(s)) return Value::undefined(why);
  if (equal_where_finite(s)) return Value::of(0);
  // Each value to that of its own place is one way; to a constant there is no other.
  const double min = std::ldexp(s.g_min, -s.exponent), max = std::ldexp(s.g_max, -s.exponent);
  const double unit = is_constant(s) ? std::fabs(max) : max - min;
  const double most = s.abs_sum / static_cast<double>(s.finite) / unit;
  if (is_constant(s)) return Value::of(most);
  const auto* transport = facts.find<Transport>();
  if (transport == nullptr) return Value::undefined(kNotComputed);
  return Value::of(std::min(transport->distance(s.finite), most));
}

}  // namespace plumb::metrics
