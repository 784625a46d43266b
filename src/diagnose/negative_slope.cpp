// SPDX-License-Identifier: Apache-2.0
#include "diagnose/negative_slope.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/rule.h"

namespace plumb::diagnose {
namespace {

constexpr double kExplained = 0.1;       // of the squared error may remain
constexpr double kLeastNegative = 0.02;  // of all elements have to be negative
constexpr double kSameSlope = 0.01;      // slopes that differ by less are one
// Without the input nobody knows how large the values before the activation were; where negative
// ones are so much smaller than positive ones, something made them so.
constexpr double kLeaks = 0.3;

using Values = std::vector<double>;

bool all_are_finite(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

double square(double value) { return value * value; }

// y as a multiple of x where x is negative. Signs are chance: no branch could foresee them.
struct SlopeFit {
  double slope = 1;
  bool has_negative = false;
};
SlopeFit fit_negative(const Values& x, const Values& y) {
  double xx = 0, xy = 0;
  int64_t negative = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double low = std::min(x[i], 0.0);
    xx += low * low;
    xy += low * y[i];
    negative += x[i] < 0;
  }
  return {xx > 0 ? xy / xx : 1,
          static_cast<double>(negative) >= kLeastNegative * static_cast<double>(x.size())};
}
// What it leaves unexplained, relative, of all elements: those that are not negative hand x on.
double remaining_after(const SlopeFit& fit, const Values& x, const Values& y) {
  double dd = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    dd += square(y[i] - (std::max(x[i], 0.0) + fit.slope * std::min(x[i], 0.0)));
    yy += y[i] * y[i];
  }
  return yy > 0 ? std::sqrt(dd / yy) : INFINITY;
}

double error_between(const compare::PairValues& output) {
  double dd = 0, gg = 0;
  for (size_t i = 0; i < output.golden.size(); ++i) {
    dd += square(output.target[i] - output.golden[i]);
    gg += square(output.golden[i]);
  }
  return gg > 0 ? std::sqrt(dd / gg) : 0;
}

bool slope_explains(double remaining, double error, double noise) {
  return remaining <= 4 * noise && square(remaining) <= kExplained * square(error);
}

bool is_an_activation(std::string_view type) {
  return type.find("Relu") != std::string_view::npos || type.find("ReLU") != std::string_view::npos;
}

NegativeSlope missing_activation(std::string_view type, double low, double remaining) {
  const std::string word(is_an_activation(type) ? type : "Relu");
  return {"missing:" + word,
          fmt::format("negative values (down to {:.3g}) come out as they went in", low), remaining};
}

// Both sides' slopes show.
std::optional<NegativeSlope> by_input(const compare::PairValues& output,
                                      const compare::PairValues& input, std::string_view type,
                                      double noise) {
  constexpr double kGoldenExact = 2e-3;  // golden may be float16
  const SlopeFit golden = fit_negative(input.golden, output.golden);
  const SlopeFit target = fit_negative(input.target, output.target);
  if (!golden.has_negative || !target.has_negative ||
      std::abs(golden.slope - target.slope) < kSameSlope ||
      std::abs(golden.slope - 1) < kSameSlope ||
      remaining_after(golden, input.golden, output.golden) > kGoldenExact)
    return {};
  const double remaining = remaining_after(target, input.target, output.target);
  if (!slope_explains(remaining, error_between(output), noise)) return {};
  if (std::abs(target.slope - 1) < kSameSlope)
    return missing_activation(type, *std::min_element(output.target.begin(), output.target.end()),
                              remaining);
  return NegativeSlope{"attribute:alpha",
                       fmt::format("negative values are multiplied by {:.4g}, in golden by {:.4g}",
                                   target.slope, std::abs(golden.slope) < 1e-6 ? 0 : golden.slope),
                       remaining};
}

// Golden is a Relu's: what stands below zero in the target is all that differs.
std::optional<NegativeSlope> behind_relu(const compare::PairValues& output, double noise) {
  double dd = 0, gg = 0, below = 0, low = 0;
  int64_t negative = 0, positive = 0;
  for (size_t i = 0; i < output.target.size(); ++i) {
    const double t = output.target[i], g = output.golden[i];
    negative += t < 0;
    positive += t > 0;
    below += t < 0 ? t * t : 0;
    low = std::min(low, t);
    dd += square(std::max(t, 0.0) - g);
    gg += g * g;
  }
  const auto count = static_cast<double>(output.target.size());
  if (static_cast<double>(negative) < kLeastNegative * count || !(gg > 0) || positive == 0)
    return {};
  const double remaining = std::sqrt(dd / gg);
  if (remaining > 4 * noise || dd > kExplained * below) return {};
  const double ratio = std::sqrt(below / static_cast<double>(negative)) /
                       std::sqrt(gg / static_cast<double>(positive));
  if (ratio >= kLeaks)
    return NegativeSlope{
        "missing:Relu",
        fmt::format("with negative values set to zero (down to {:.3g}) it agrees", low), remaining};
  return NegativeSlope{
      "attribute:alpha",
      fmt::format("with negative values set to zero it agrees; they are {:.3g} of the size of "
                  "positive ones, as behind a LeakyRelu",
                  ratio),
      remaining};
}

// Golden has negative values of its own, and the target a multiple of them.
std::optional<NegativeSlope> behind_leak(const compare::PairValues& output, std::string_view type,
                                         double noise) {
  const SlopeFit fit = fit_negative(output.golden, output.target);
  // What ends at zero may be cut there by anything.
  if (!fit.has_negative || std::abs(fit.slope - 1) < kSameSlope ||
      (std::abs(fit.slope) < kSameSlope && !is_an_activation(type)))
    return {};
  const double remaining = remaining_after(fit, output.golden, output.target);
  if (!slope_explains(remaining, error_between(output), noise)) return {};
  return NegativeSlope{"attribute:alpha",
                       fmt::format("negative values are {:.4g} times golden's, all others agree",
                                   std::abs(fit.slope) < 1e-6 ? 0 : fit.slope),
                       remaining};
}

}  // namespace

std::optional<NegativeSlope> other_negative_slope(const compare::PairValues& output,
                                                  const compare::PairValues* input,
                                                  std::string_view type, double noise) {
  if (!output.is_aligned() || output.golden.empty() || !all_are_finite(output.target) ||
      !all_are_finite(output.golden))
    return {};
  if (input != nullptr && input->is_aligned() && input->golden.size() == output.golden.size() &&
      all_are_finite(input->target) && all_are_finite(input->golden))
    if (auto found = by_input(output, *input, type, noise)) return found;
  const bool is_relu = *std::min_element(output.golden.begin(), output.golden.end()) >= 0;
  return is_relu ? behind_relu(output, noise) : behind_leak(output, type, noise);
}

// Of what was made from several operators the fusion is to blame.
std::optional<result::Finding> explain_negative_slope(const Suspect& suspect) {
  if (!suspect.slope || suspect.node.origins >= 2) return {};
  result::Finding finding = finding_about(suspect, suspect.root.is_behind ? 0.55 : 0.93);
  add_slope(suspect, finding);
  finding.advice =
      suspect.slope->detail.starts_with("missing:")
          ? fmt::format("{} gives out what golden has before its activation: it is missing.",
                        suspect.accused)
          : fmt::format(
                "{} has another slope for negative values than the original (alpha of a "
                "LeakyRelu; a Relu has 0): compare how both models define it.",
                suspect.accused);
  finding.next = look_command(suspect);
  return finding;
}

void add_slope(const Suspect& suspect, result::Finding& finding) {
  if (!suspect.slope) return;
  finding.detail = suspect.slope->detail;
  const double low = suspect.value("target_min");
  finding.evidence.push_back(
      evidence_of(suspect,
                  fmt::format("{}: an error of {} remains", suspect.slope->text,
                              short_text(suspect.slope->remaining)),
                  "target_min", low));
}

}  // namespace plumb::diagnose
