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

struct AffineLine {
  double scale, offset;
  bool fits_scale, fits_offset;
};

Claim claim_of(const AffineLine& line, const Moments& m, double count, double remaining) {
  if (!line.fits_scale && !line.fits_offset)
    return {"negated", "the target is golden with the opposite sign", remaining};
  // Three standard errors: how far a fitted number may be from the true one.
  const double around = line.fits_offset ? 0 : count * m.golden * m.golden;
  const double deviation =
      3 * remaining * std::sqrt(m.target2 / count + m.target * m.target) / std::sqrt(count);
  const double of_scale = line.fits_scale ? deviation / std::sqrt((m.golden2 + around) / count) : 0;
  const std::string k = round_number(line.scale, of_scale);
  const std::string b = round_number(line.offset, deviation + of_scale * std::fabs(m.golden));
  if (!line.fits_scale) return {"offset:" + b, "the target is golden plus " + b, remaining};
  if (!line.fits_offset) return {"scale:" + k, "the target is golden times " + k, remaining};
  return {fmt::format("affine:{},{}", k, b),
          fmt::format("the target is golden times {}, plus {}", k, b), remaining};
}

}  // namespace

void find_affine(const Problem& problem, std::vector<Claim>& claims) {
  const Moments m = moments_of(problem);
  if (!(m.golden2 > 0) || !(m.target2 > 0)) return;
  const auto count = static_cast<double>(problem.count());
  const double slope = m.products / m.golden2;
  const AffineLine lines[] = {
      {-1, 0, false, false},
      {1, m.target - m.golden, false, true},
      {(m.products + count * m.target * m.golden) / (m.golden2 + count * m.golden * m.golden), 0,
       true, false},
      {slope, m.target - slope * m.golden, true, true},
  };
  const double deviation = std::sqrt(m.golden2 / count);
  for (const AffineLine& line : lines) {
    const auto predict = [&](int64_t i) {
      return line.scale * problem.golden[static_cast<size_t>(i)] + line.offset;
    };
    const auto standard = [&](int64_t i) {
      return (problem.golden[static_cast<size_t>(i)] - m.golden) / deviation;
    };
    const double parameters = (line.fits_scale ? 1 : 0) + (line.fits_offset ? 1 : 0);
    const auto left = remaining_after(problem, predict, {.parameters = parameters});
    if (!left || (parameters > 0 && is_curved(problem, predict, standard, {}, 1))) continue;
    claims.push_back(claim_of(line, m, count, *left));
    if (leaves_only_noise(problem, claims)) return;
  }
}

}  // namespace plumb::diagnose
