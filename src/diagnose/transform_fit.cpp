// SPDX-License-Identifier: Apache-2.0
#include "diagnose/transform_fit.h"

#include <algorithm>
#include <cmath>

namespace plumb::diagnose {
namespace {

constexpr int64_t kSample = 1024;
constexpr double kNoise = 4;        // times the noise may remain,
constexpr double kShare = 0.02;     // or this share of what was there,
constexpr double kGain = 0.25;      // and at most this one if no more than noise remains,
constexpr double kLargeGain = 0.1;  // else this one,
constexpr double kBulkShare = 0.1;  // among the small values, too.
// Evidence is counted in nats: an unrelated element comes as near as kShare with a probability of
// about kShare, and no element counts for more.
constexpr double kNatsOfElement = 3.9;
constexpr double kLeastNats = 14;

// Spreads places evenly and the same on all machines.
uint64_t hash(uint64_t z) {
  z = (z + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::vector<int64_t> sample_of(std::span<const double> target) {
  std::vector<int64_t> places;
  const auto count = static_cast<uint64_t>(target.size());
  if (std::ssize(target) <= 2 * kSample) {
    for (int64_t i = 0; i < std::ssize(target); ++i) places.push_back(i);
    return places;
  }
  for (uint64_t i = 0; i < 8 * kSample && std::ssize(places) < kSample; ++i)
    if (const uint64_t place = hash(i) % count; target[place] != 0)
      places.push_back(static_cast<int64_t>(place));
  for (uint64_t i = 0; std::ssize(places) < kSample; ++i)
    places.push_back(static_cast<int64_t>(hash(~i) % count));
  return places;
}

double distinct_in(std::span<const double> values) {
  std::vector<double> some;
  for (const int64_t place : sample_of(values)) some.push_back(values[static_cast<size_t>(place)]);
  std::sort(some.begin(), some.end());
  return static_cast<double>(std::unique(some.begin(), some.end()) - some.begin());
}

// Of some values, evenly spread: the one with `share` of them below it.
double quantile(std::vector<double>& values, double share) {
  const auto at = values.begin() +
                  static_cast<ptrdiff_t>(std::ceil(share * static_cast<double>(values.size()))) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void set_bulk(Problem& problem) {
  std::vector<double> some;
  const int64_t step = std::max<int64_t>(1, problem.count() / (16 * kSample));
  for (int64_t i = 0; i < problem.count(); i += step)
    some.push_back(problem.target[static_cast<size_t>(i)]);
  problem.median = quantile(some, 0.5);
  for (double& value : some) value = std::fabs(value - problem.median);
  problem.bulk = quantile(some, 0.99);
}

// Sums over the places that are predicted; `change` is target - golden in place.
struct Tally {
  double all = 0, covered = 0;
  double remaining = 0, predicted = 0, centred = 0, change = 0;  // squares
  double bulk = 0, bulk_remaining = 0, bulk_centred = 0;         // near the median
  double abs_change = 0, abs_centred = 0;

  void add(const Problem& problem, int64_t at, double p, bool has_original) {
    all += 1;
    if (std::isnan(p)) return;
    covered += 1;
    const auto place = static_cast<size_t>(at);
    const double t = problem.target[place];
    const double rest = t - p, far = t - problem.mean;
    const double changed = has_original ? t - problem.original[place] : 0;
    remaining += rest * rest;
    predicted += p * p;
    centred += far * far;
    change += changed * changed;
    abs_change += std::fabs(changed);
    const double usual = std::fabs(t - problem.median);
    if (usual > problem.bulk) return;
    bulk += 1;
    bulk_remaining += rest * rest;
    bulk_centred += usual * usual;
    abs_centred += usual;
  }

  // With slack the sizes only have to be about right.
  bool explains(const Problem& problem, const Freedom& freedom, double slack) const {
    if (covered == 0 || covered * slack < freedom.least_covered * problem.least_covered * all)
      return false;
    const double own =
        std::isnan(freedom.centred) || slack > 1 ? std::sqrt(centred) : freedom.centred;
    const double was = freedom.has_original ? std::min(std::sqrt(change), own) : own;
    const double rest = std::sqrt(remaining), noise = kNoise * problem.noise;
    if (rest > slack * std::max(noise * std::sqrt(predicted), kShare * was)) return false;
    const double gain = rest <= problem.noise * std::sqrt(predicted) ? kGain : kLargeGain;
    if (rest > slack * gain * was) return false;
    return std::sqrt(bulk_remaining) <=
           slack * std::max(noise * std::sqrt(predicted * bulk / covered),
                            kBulkShare * std::sqrt(bulk_centred));
  }

  // Elements of like size that say something; a few large ones count as few.
  bool is_evidence(const Problem& problem, const Freedom& freedom) const {
    double elements = bulk_centred > 0 ? abs_centred * abs_centred / bulk_centred : 0;
    if (freedom.has_original)
      elements = std::min(elements, change > 0 ? abs_change * abs_change / change : 0);
    if (freedom.parameters > 0) elements = std::min(elements, problem.distinct);
    const double nats = std::min(kNatsOfElement, 0.5 * std::log(centred / remaining));
    return (elements - freedom.parameters) * nats >=
           kLeastNats + std::log(freedom.alternatives * problem.alternatives);
  }
};

}  // namespace

Problem problem_of(std::span<const double> target, std::span<const double> golden) {
  Problem problem{
      .target = target, .golden = golden, .original = golden, .shape = {}, .target_shape = {}};
  for (const double value : target) problem.mean += value;
  problem.mean /= static_cast<double>(std::max<size_t>(1, target.size()));
  if (!target.empty()) set_bulk(problem);
  problem.distinct = distinct_in(golden);
  problem.sample = sample_of(target);
  return problem;
}

std::optional<double> remaining_after(const Problem& problem, const Predict& predict,
                                      const Freedom& freedom) {
  Tally some;
  for (const int64_t place : problem.sample)
    some.add(problem, place, predict(place), freedom.has_original);
  if (!some.explains(problem, freedom, 3)) return std::nullopt;
  Tally whole;
  for (int64_t place = 0; place < problem.count(); ++place)
    whole.add(problem, place, predict(place), freedom.has_original);
  if (!whole.explains(problem, freedom, 1) || !whole.is_evidence(problem, freedom))
    return std::nullopt;
  return whole.predicted > 0 ? std::sqrt(whole.remaining / whole.predicted) : 0;
}

bool is_curved(const Problem& problem, const Predict& line, const Predict& standard,
               const std::function<int64_t(int64_t place)>& group, int64_t groups) {
  constexpr int64_t kBins = 8, kFewest = 8;  // bins of half a deviation; elements of each
  constexpr double kCurved = 0.4;            // of the remaining squares
  constexpr double kRounding = 1e-7;         // of the parameters themselves
  if (problem.count() < kBins * kFewest) return false;
  if (problem.count() < groups * kBins * kFewest) groups = 1;
  struct Bin {
    double count = 0, sum = 0;
  };
  std::vector<Bin> bins(static_cast<size_t>(groups * kBins));
  double squares = 0, target2 = 0;
  for (int64_t place = 0; place < problem.count(); ++place) {
    const double rest = problem.target[static_cast<size_t>(place)] - line(place);
    const double at = std::clamp(std::floor(2 * standard(place)) + kBins / 2, 0.0, kBins - 1.0);
    const int64_t first = groups > 1 ? group(place) * kBins : 0;
    Bin& bin = bins[static_cast<size_t>(first + static_cast<int64_t>(at))];
    bin.count += 1;
    bin.sum += rest;
    squares += rest * rest;
    target2 +=
        problem.target[static_cast<size_t>(place)] * problem.target[static_cast<size_t>(place)];
  }
  double explained = 0;
  for (const Bin& bin : bins)
    if (bin.count > 0) explained += bin.sum * bin.sum / bin.count;
  return explained > kCurved * squares && squares > kRounding * kRounding * target2;
}

}  // namespace plumb::diagnose
