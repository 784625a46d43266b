// SPDX-License-Identifier: Apache-2.0
#include "judge/recorded_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/resolution.h"

namespace plumb::judge {
namespace {

using Number = std::optional<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLeastShare = 0x1p-53;  // of one element, where nobody knows how many there are

// How far a recorded number may be from the true one, as a share of it.
struct Slack {
  double extremes = 0, sums = 0;
};

bool is_finite(const Number& number) { return number && std::isfinite(*number); }

double ratio(double part, double whole) {
  if (part <= 0) return 0;
  return whole > 0 ? part / whole : kInf;
}

class Proof {
 public:
  Proof(const Statistics& target, const Statistics& golden, const Slack& slack)
      : target_(target), golden_(golden), slack_(slack) {}

  // Both ends; nullopt if nothing is known.
  std::optional<std::pair<double, double>> of(std::string_view metric) const {
    // At the place of the larger maximum (smaller minimum) the other side has no larger (smaller)
    // value than its own: there |t - g| >= error().
    if (metric == "max_abs") return at_least(error());
    // At that place |g| is no larger than golden's largest; golden is zero there: infinite.
    if (metric == "max_rel") return at_least(ratio(error(), largest(golden_)));
    // The range of golden is that of its extremes.
    if (metric == "max_err_to_range") return at_least(ratio(error(), golden_range()));
    // Any distance is at least its longest side; the triangle t, g, 0: |t - g| >= ||t| - |g||.
    if (metric == "euclid") return at_least(distance());
    if (metric == "rel_euclid" || metric == "sqnr_db") return relative_distance(metric);
    // The mean of squares is at least the square of the mean (Jensen).
    if (metric == "rmse")
      return at_least(std::max(ratio(distance(), std::sqrt(count())), mean_difference()));
    // The mean of |t - g| is at least |mean of t - g|, and one n-th of any of them.
    if (metric == "mean_abs") return at_least(std::max(ratio(error(), count()), mean_difference()));
    if (metric == "norm_ratio") return norm_ratio();  // by definition
    // Equal tensors would have the same numbers: one element at least is not equal.
    if (metric == "equal_share" && differs())
      return {{-kInf, 1 - std::max(ratio(1, count()), kLeastShare)}};
    return std::nullopt;
  }

 private:
  static std::optional<std::pair<double, double>> at_least(double low) { return {{low, kInf}}; }

  // Of a script's reduced file nothing is known but extremes, and it may have taken them over the
  // padding of a device layout, which is zeros.
  static bool may_be_padding(const Statistics& side, double extreme) {
    return extreme == 0 && !side.shape;
  }
  bool is_complex() const {  // its extremes are those of the parts
    return is_complex(target_) || is_complex(golden_);
  }
  static bool is_complex(const Statistics& side) {
    const auto dtype = recorded_dtype(side.dtype);
    return dtype && kind_of(*dtype) == DKind::kComplex;
  }

  double least_difference(const Number& target, const Number& golden) const {
    if (!is_finite(target) || !is_finite(golden) || is_complex()) return 0;
    if (may_be_padding(target_, *target) || may_be_padding(golden_, *golden)) return 0;
    const double size = std::abs(*target) + std::abs(*golden);
    return std::max(0.0, std::abs(*target - *golden) - slack_.extremes * size);
  }
  double error() const {
    return std::max(least_difference(target_.min, golden_.min),
                    least_difference(target_.max, golden_.max));
  }

  // Infinite if not known: then nothing follows from it.
  static bool has_extremes(const Statistics& s) {
    return is_finite(s.min) && is_finite(s.max) && *s.min <= *s.max;
  }
  double largest(const Statistics& s) const {
    if (!has_extremes(s)) return kInf;
    return std::max(std::abs(*s.min), std::abs(*s.max)) * (1 + slack_.extremes);
  }
  double golden_range() const {
    if (!has_extremes(golden_)) return kInf;
    const double min = *golden_.min, max = *golden_.max;
    if (min == max) return largest(golden_);  // as the metric has it of a constant
    return max - min + slack_.extremes * (std::abs(min) + std::abs(max));
  }
  double count() const {
    const auto& shape = target_.shape ? target_.shape : golden_.shape;
    const auto elements = shape ? element_count(*shape) : std::nullopt;
    return elements ? static_cast<double>(*elements) : kInf;
  }

  bool has_lengths() const {
    const Number &t = target_.l2, &g = golden_.l2;
    return is_finite(t) && is_finite(g) && *t >= 0 && *g >= 0;
  }
  double length_difference() const {
    if (!has_lengths()) return 0;
    const double t = *target_.l2, g = *golden_.l2;
    return std::max(0.0, std::abs(t - g) - slack_.sums * (t + g));
  }
  double distance() const { return std::max(error(), length_difference()); }

  std::optional<std::pair<double, double>> relative_distance(std::string_view metric) const {
    if (!has_lengths() || *golden_.l2 == 0) return std::nullopt;
    const double least = ratio(distance(), *golden_.l2 * (1 + slack_.sums));
    if (metric == "rel_euclid") return at_least(least);
    return {{-kInf, -20 * std::log10(least)}};  // sqnr_db is this of rel_euclid, and falls with it
  }

  std::optional<std::pair<double, double>> norm_ratio() const {
    if (!has_lengths()) return std::nullopt;
    const double t = *target_.l2, g = *golden_.l2;
    if (t == g) return {{1, 1}};
    const double more = 1 + slack_.sums, less = 1 - slack_.sums;
    return {{ratio(t * less, g * more), ratio(t * more, g * less)}};
  }

  // Sums that nearly cancel are off by a share of what was summed, not of the result.
  double mean_difference() const {
    const Number &t = target_.mean, &g = golden_.mean;
    const double summed = largest(target_) + largest(golden_);
    if (!is_finite(t) || !is_finite(g) || !std::isfinite(summed) || is_complex()) return 0;
    return std::max(0.0, std::abs(*t - *g) - slack_.sums * summed);
  }

  bool differs() const {
    if (distance() > 0 || mean_difference() > 0) return true;
    const std::string &x = target_.text, &y = golden_.text;
    if (!x.empty() && !y.empty() && x != y) return true;  // extremes that are no numbers
    // Other bytes are other numbers only where each number has one form.
    const auto t = recorded_dtype(target_.dtype), g = recorded_dtype(golden_.dtype);
    const std::string &a = target_.checksum, &b = golden_.checksum;
    return t && t == g && kind_of(*t) == DKind::kInteger && a.size() == b.size() && a != b;
  }

  const Statistics& target_;
  const Statistics& golden_;
  const Slack slack_;
};

// Tools record float32, and torch gives a sum in the type of the data: half a step of it.
double sum_slack(std::string_view dtype) {
  constexpr double kSingle = 1e-6;
  const auto known = recorded_dtype(dtype);
  if (!known || kind_of(*known) != DKind::kFloat) return kSingle;
  return std::max(kSingle, metrics::resolution_of(*known).relative / 2);
}

}  // namespace

std::optional<metrics::Bounded> proven(std::string_view metric, const Statistics& target,
                                       const Statistics& golden) {
  const Slack slack{1e-6, std::max(sum_slack(target.dtype), sum_slack(golden.dtype))};
  const auto ends = Proof(target, golden, slack).of(metric);
  if (!ends) return std::nullopt;
  const auto plain = *Proof(target, golden, {}).of(metric);
  return metrics::Bounded{std::isinf(plain.first) ? plain.second : plain.first, ends->first,
                          ends->second};
}

}  // namespace plumb::judge
