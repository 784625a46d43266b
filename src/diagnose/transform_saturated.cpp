// SPDX-License-Identifier: Apache-2.0
//
// Values beyond a limit became the limit: of a type, of a calibrated range, of an activation.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "diagnose/round_number.h"
#include "diagnose/transform_families.h"
#include "metrics/resolution.h"

namespace plumb::diagnose {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kSeveral = 16;

struct Limit {
  double value;                 // extreme of the target; then the mean of those that were limited
  int64_t limited = 0;          // elements that golden has beyond it
  int64_t reached = 0;          // elements of the target that are at it
  double sum = 0, squares = 0;  // of the limited ones, as differences from `value`

  void add(double t, bool is_beyond) {
    reached += t == value ? 1 : 0;
    if (!is_beyond) return;
    ++limited;
    sum += t - value;
    squares += (t - value) * (t - value);
  }
  // Where golden has nothing beyond, it is a limit only if values gather there: zeros of a Relu.
  std::string text(double otherwise, DType dtype) const {
    if (limited == 0 && reached < kSeveral) return fmt::format("{}", otherwise);
    const double count = std::max(1.0, static_cast<double>(limited)), mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean) / count);
    const double rounding = metrics::resolution_of(dtype).relative / 2 * std::fabs(value);
    return round_number(value + mean, std::max(rounding, 3 * deviation));
  }
  double bound(double otherwise) const {
    return limited > 0 ? value + sum / static_cast<double>(limited) : otherwise;
  }
};

}  // namespace

void find_saturated(const Problem& problem, std::vector<Claim>& claims) {
  const auto [lowest, highest] = std::minmax_element(problem.target.begin(), problem.target.end());
  Limit low{.value = *lowest}, high{.value = *highest};
  const double tolerance = 2 * problem.noise;
  const double below = low.value - tolerance * std::fabs(low.value);
  const double above = high.value + tolerance * std::fabs(high.value);
  for (size_t i = 0; i < problem.target.size(); ++i) {
    low.add(problem.target[i], problem.golden[i] < below);
    high.add(problem.target[i], problem.golden[i] > above);
  }
  if (low.limited + high.limited == 0) return;
  const double from = low.bound(-kInfinite), to = high.bound(kInfinite);
  if (!(from < to)) return;
  const auto left = remaining_after(
      problem,
      [&](int64_t i) { return std::clamp(problem.golden[static_cast<size_t>(i)], from, to); },
      {.parameters = 2});
  if (!left) return;
  const std::string a = low.text(-kInfinite, problem.target_dtype);
  const std::string b = high.text(kInfinite, problem.target_dtype);
  claims.push_back(
      {fmt::format("saturated:{},{}", a, b),
       fmt::format("the target is golden limited to {} .. {}: {} of {} values were beyond", a, b,
                   low.limited + high.limited, problem.count()),
       *left});
}

}  // namespace plumb::diagnose
