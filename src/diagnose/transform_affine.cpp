// SPDX-License-Identifier: Apache-2.0
//
// target = scale · golden + offset: a picture of 0..255 instead of 0..1, a mean that was not
// subtracted, a scale or zero point that was not applied, a sign.
#include <cmath>

#include <fmt/format.h>

#include "diagnose/round_number.h"
#include "diagnose/transform_families.h"

namespace plumb::diagnose {
namespace {

struct Moments {
  double target = 0, golden = 0;                  // means
  double target2 = 0, golden2 = 0, products = 0;  // centred
};

Moments moments_of(const Problem& problem) {
  Moments moments;
  const auto count = static_cast<double>(problem.count());
  for (const double g : problem.golden) moments.golden += g;
  moments.golden /= count;
  moments.target = problem.mean;
  for (size_t i = 0; i < problem.golden.size(); ++i) {
    const double t = problem.target[i] - moments.target, g = problem.golden[i] - moments.golden;
    moments.target2 += t * t;
    moments.golden2 += g * g;
    moments.products += t * g;
  }
  return moments;
}

// How far a fitted number may be from the true one: three standard errors.
double uncertainty(double remaining_norm, double norm) {
  return norm > 0 ? 3 * remaining_norm / norm : 0;
}

}  // namespace

void find_affine(const Problem& problem, std::vector<Claim>& claims) {
  const Moments m = moments_of(problem);
  if (!(m.golden2 > 0) || !(m.target2 > 0)) return;
  const auto count = static_cast<double>(problem.count());
  const auto golden = problem.golden;
  const double deviation = std::sqrt(m.golden2 / count);
  const auto line = [&](double scale, double offset, double parameters) -> std::optional<double> {
    const auto predict = [&](int64_t i) { return scale * golden[static_cast<size_t>(i)] + offset; };
    const auto left = remaining_after(problem, predict, {.parameters = parameters});
    const auto standard = [&](int64_t i) {
      return (golden[static_cast<size_t>(i)] - m.golden) / deviation;
    };
    if (left && parameters > 0 && is_curved(problem, predict, standard, {}, 1)) return std::nullopt;
    return left;
  };
  const double squares = m.golden2 + count * m.golden * m.golden;
  const double target_norm = std::sqrt(m.target2 + count * m.target * m.target);
  if (const auto left = line(-1, 0, 0)) {
    claims.push_back({"negated", "the target is golden with the opposite sign", *left});
  }
  if (const double offset = m.target - m.golden; const auto left = line(1, offset, 1)) {
    const std::string k =
        round_number(offset, uncertainty(*left * target_norm / std::sqrt(count), std::sqrt(count)));
    claims.push_back({"offset:" + k, fmt::format("the target is golden plus {}", k), *left});
  }
  if (const double scale = (m.products + count * m.target * m.golden) / squares;
      const auto left = line(scale, 0, 1)) {
    const std::string k = round_number(
        scale, uncertainty(*left * target_norm / std::sqrt(count), std::sqrt(squares)));
    claims.push_back({"scale:" + k, fmt::format("the target is golden times {}", k), *left});
  }
  const double scale = m.products / m.golden2, offset = m.target - scale * m.golden;
  if (const auto left = line(scale, offset, 2)) {
    const double rest = *left * target_norm / std::sqrt(count);
    const double of_scale = uncertainty(rest, std::sqrt(m.golden2));
    const std::string k = round_number(scale, of_scale);
    const std::string b =
        round_number(offset, uncertainty(rest, std::sqrt(count)) + of_scale * std::fabs(m.golden));
    claims.push_back({fmt::format("affine:{},{}", k, b),
                      fmt::format("the target is golden times {}, plus {}", k, b), *left});
  }
}

}  // namespace plumb::diagnose
