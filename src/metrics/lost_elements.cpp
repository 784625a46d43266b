// SPDX-License-Identifier: Apache-2.0
#include "metrics/lost_elements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "metrics/resolution.h"
#include "metrics/slice_rel_euclid.h"

namespace plumb::metrics {
namespace {

constexpr int64_t kMostSingleElements = 1 << 16;         // of a tensor: in a larger one none counts
constexpr double kAgreesAsWhole = 0.1;                   // rel_euclid
constexpr double kOffByThird = 0.3;                      // of golden: what may be lost
constexpr double kOffByTenth = 0.1, kAgreesWell = 0.01;  // worth a remark, far above all noise
constexpr double kFarAboveNoise = 6;                     // times the error of what agrees
constexpr double kFarAboveAll = 40;                      // the same for a tenth
constexpr double kGone = 0.1, kGoneInSlice = 0.5;  // of golden at most, by size: nothing is left
constexpr double kAboveNoise = 2.5;                // the same for what is gone
constexpr int64_t kSomeAgree = 8;                  // fewer may show less noise than there is
constexpr int64_t kFewAgree = 2;                   // elements that are not zero
constexpr double kOfOtherKind = 16;                // times as large is the tensor as the slice
constexpr double kMostAgree = 0.75;                // of the slice's elements
constexpr int64_t kFewSlices = 16;                 // of an axis: columns of a table
constexpr double kFarAboveOthers = 20;             // times the ratio of other columns
constexpr int64_t kFewLarger = 3, kOfSoMany = 200;
constexpr double kFlushedTwice = 2;  // below the smallest normal: an operand, and then the sum

double ratio_of(double error, double golden) {
  if (error == 0) return 0;
  return golden == 0 ? std::numeric_limits<double>::infinity() : error / std::fabs(golden);
}

Resolution resolution_in(const PairFacts& facts) {
  return resolution_of(coarser_of(shown_target_dtype(facts.target_dtype, facts.sums),
                                  shown_golden_dtype(facts.golden_dtype, facts.sums)));
}

// Of a slice along an axis.
std::vector<size_t> places_of(int64_t index, int64_t length, int64_t stride, int64_t count) {
  std::vector<size_t> places;
  for (int64_t first = index * stride; first < count; first += length * stride)
    for (int64_t i = first; i < first + stride; ++i) places.push_back(static_cast<size_t>(i));
  return places;
}

std::string place_of(int64_t position, const Shape& shape) {
  Shape at(shape.size());
  for (size_t i = shape.size(); i-- > 0; position /= shape[i]) at[i] = position % shape[i];
  return to_string(at);
}

}  // namespace

bool LostElements::may_be_in(const PairFacts& first) {
  const PairSums& sums = first.sums;
  return sums.count <= kMostSingleElements && sums.exponent == 0 &&
         kind_of(first.target_dtype) == DKind::kFloat &&
         kind_of(first.golden_dtype) == DKind::kFloat &&
         sums.dd <= kAgreesAsWhole * kAgreesAsWhole * sums.gg &&
         (sums.rel_max >= kOffByTenth || sums.off_at_zero > 0) &&
         sums.abs_max > ignored_in_slices(first);
}

LostElements::LostElements(const PairFacts& first, Shape shape)
    : shape_(std::move(shape)),
      rounding_(resolution_in(first).relative),
      ignored_(std::max(ignored_in_slices(first), kFlushedTwice * resolution_in(first).absolute)),
      rms_(std::sqrt(first.sums.gg / static_cast<double>(std::max<int64_t>(first.sums.finite, 1)))),
      largest_(std::max(std::fabs(first.sums.g_min), std::fabs(first.sums.g_max))) {}

void LostElements::add(const double* target, const double* golden, int64_t count) {
  target_.insert(target_.end(), target, target + count);
  golden_.insert(golden_.end(), golden, golden + count);
}

void LostElements::append(const LostElements& later) {
  add(later.target_.data(), later.golden_.data(), std::ssize(later.golden_));
}

// The largest error that no rounding explains, among elements that agree: `steps` of the type, half
// of one for rounding to nearest. Of many, a few that are larger need not be noise: what is wrong
// with others may be wrong with them, too.
LostElements::Noise LostElements::noise_of(const std::vector<size_t>& places, double agree,
                                           double steps) const {
  Noise noise;
  std::vector<double> errors;
  for (const size_t i : places) {
    const double error = std::fabs(target_[i] - golden_[i]), size = std::fabs(golden_[i]);
    if (!(error < agree * size) || !std::isfinite(size)) continue;
    errors.push_back(error - steps * rounding_ * size);
    noise.is_any |= error > 0;
  }
  noise.elements = std::ssize(errors);
  if (errors.empty()) return noise;
  const auto chosen = errors.begin() + std::min(kFewLarger, noise.elements / kOfSoMany);
  std::nth_element(errors.begin(), chosen, errors.end(), std::greater<>());
  noise.largest = std::max(0.0, *chosen);
  return noise;
}

// Elements, and slices of less than 16, of which nothing is left though they are larger than noise.
std::vector<bool> LostElements::gone(const Noise& noise) const {
  const double most = std::max(kAboveNoise * noise.largest, ignored_);
  const double left = noise.elements < kSomeAgree ? 0 : kGone;
  std::vector<bool> gone(golden_.size());
  for (size_t i = 0; i < golden_.size(); ++i) {
    const double size = std::fabs(golden_[i]);
    gone[i] = size > most && std::fabs(target_[i]) <= left * size;
  }
  const auto count = std::ssize(golden_);
  int64_t stride = 1;
  for (size_t axis = shape_.size(); axis-- > 0; stride *= shape_[axis]) {
    const int64_t length = shape_[axis];
    if (length < 2 || count / length < 2 || count / length >= kSmallestSlice) continue;
    for (int64_t index = 0; index < length; ++index) {
      const std::vector<size_t> places = places_of(index, length, stride, count);
      if (is_gone(places, most))
        for (const size_t i : places) gone[i] = golden_[i] != 0;
    }
  }
  return gone;
}

// Far above the noise of a slice that is of another kind than the tensor as a whole: scores beside
// boxes. Where less agrees, those that do are the ones with little noise and tell nothing about it.
std::vector<bool> LostElements::far_off_in_slices() const {
  std::vector<bool> far_off(golden_.size());
  const auto count = std::ssize(golden_);
  int64_t stride = 1;
  for (size_t axis = shape_.size(); axis-- > 0; stride *= shape_[axis]) {
    const int64_t length = shape_[axis];
    if (length < 2 || count / length <= kSomeAgree) continue;
    for (int64_t index = 0; index < length; ++index) {
      const std::vector<size_t> places = places_of(index, length, stride, count);
      double gg = 0;
      for (const size_t i : places) gg += golden_[i] * golden_[i];
      const auto elements = static_cast<double>(places.size());
      if (!(kOfOtherKind * std::sqrt(gg / elements) <= rms_)) continue;
      const Noise noise = noise_of(places, kOffByThird);
      if (static_cast<double>(noise.elements) < std::max<double>(kSomeAgree, kMostAgree * elements))
        continue;
      const double most = std::max(kFarAboveNoise * noise.largest, ignored_);
      for (const size_t i : places) far_off[i] = far_off[i] || is_far_off(i, most);
    }
  }
  return far_off;
}

// What an element was summed of was as large as its neighbours: near zero, a step of theirs is
// left.
std::vector<double> LostElements::steps() const {
  const auto count = std::ssize(golden_);
  std::vector<double> steps(golden_.size(), rounding_ * largest_);
  int64_t stride = 1;
  for (size_t axis = shape_.size(); axis-- > 0; stride *= shape_[axis]) {
    if (shape_[axis] < 2 || count / shape_[axis] < 2) continue;
    for (int64_t index = 0; index < shape_[axis]; ++index) {
      const std::vector<size_t> places = places_of(index, shape_[axis], stride, count);
      double largest = 0;
      for (const size_t i : places) largest = std::max(largest, std::fabs(golden_[i]));
      for (const size_t i : places) steps[i] = std::min(steps[i], rounding_ * largest);
    }
  }
  return steps;
}

bool LostElements::is_far_off(size_t i, double most) const {
  const double error = std::fabs(target_[i] - golden_[i]);
  return error > most && ratio_of(error, golden_[i]) >= kOffByThird;
}

bool LostElements::is_gone(const std::vector<size_t>& places, double most) const {
  double tt = 0, tg = 0, gg = 0;
  for (const size_t i : places) {
    tt += target_[i] * target_[i];
    tg += target_[i] * golden_[i];
    gg += golden_[i] * golden_[i];
  }
  return tt <= kGoneInSlice * kGoneInSlice * gg &&
         tt - 2 * tg + gg >= kLostRatio * kLostRatio * gg && gg - tg > most * std::sqrt(gg);
}

std::optional<LostElements::Worst> LostElements::worst_element() const {
  const auto count = std::ssize(golden_);
  const std::vector<size_t> all = places_of(0, 1, count, count);
  const Noise usual = noise_of(all, kOffByThird), least = noise_of(all, kAgreesWell);
  if (usual.elements < kFewAgree) return std::nullopt;
  const auto most_of = [&](const Noise& noise, double times) {
    const double few = noise.elements < kSomeAgree && noise.is_any ? rounding_ * largest_ : 0;
    return std::max({times * noise.largest, ignored_, few});
  };
  const double most = most_of(usual, kFarAboveNoise), most_by_tenth = most_of(least, kFarAboveAll);
  const bool is_fine = rounding_ <= 0x1p-23 && least.elements >= kSomeAgree;
  const std::vector<bool> are_gone = gone(noise_of(all, kOffByThird, 1)),
                          are_far_off = far_off_in_slices();
  std::vector<double> step;  // once one is asked for
  const auto is_above_step = [&](size_t i, double error) {
    if (step.empty()) step = usual.is_any ? steps() : std::vector<double>(golden_.size());
    return error > step[i];
  };
  Worst worst;
  double largest = 0;  // error
  for (size_t i = 0; i < golden_.size(); ++i) {
    const double error = std::fabs(target_[i] - golden_[i]), ratio = ratio_of(error, golden_[i]);
    const bool is_far = are_far_off[i] || is_far_off(i, most) ||
                        (is_fine && ratio >= kOffByTenth && error > most_by_tenth);
    if (!std::isfinite(error) || !(are_gone[i] || (is_far && is_above_step(i, error)))) continue;
    ++worst.count;
    if (ratio < worst.ratio || (ratio == worst.ratio && error <= largest)) continue;
    largest = error;
    worst.ratio = ratio;
    worst.position = static_cast<int64_t>(i);
  }
  return worst.count > 0 ? std::optional(worst) : std::nullopt;
}

// Columns of a table have units of their own: what pixels are off by says nothing about a score.
// Each is measured by itself then, and by how much the others are off of themselves. Longer slices
// show by themselves whether they follow golden, see compare/worst_slice.cpp. Where nothing of
// golden is left, it has to be gone: noise of operands may be larger than what they sum up to.
std::optional<LostElements::Worst> LostElements::worst_of_few_slices() const {
  constexpr int64_t kFewest = 3;  // slices, to know what is usual
  constexpr int64_t kLong = 64;   // elements
  constexpr double kAlong = 0.8;  // of the squares of errors
  std::optional<Worst> worst;
  const auto count = std::ssize(golden_);
  int64_t stride = 1;
  for (size_t axis = shape_.size(); axis-- > 0; stride *= shape_[axis]) {
    const int64_t length = shape_[axis];
    if (length < kFewest || length > kFewSlices || count / length < 2 || count / length >= kLong)
      continue;
    std::vector<double> ratios, usual;
    std::vector<bool> may_count;
    for (int64_t index = 0; index < length; ++index) {
      const std::vector<size_t> places = places_of(index, length, stride, count);
      double dd = 0, dg = 0, gg = 0;
      for (const size_t i : places) {
        const double error = target_[i] - golden_[i];
        if (!std::isfinite(error)) continue;
        dd += error * error;
        dg += error * golden_[i];
        gg += golden_[i] * golden_[i];
      }
      const auto elements = static_cast<double>(places.size());
      ratios.push_back(gg > 0 ? std::sqrt(dd / gg) : 0);
      may_count.push_back(kOfOtherKind * std::sqrt(gg / elements) <= rms_ &&
                          std::sqrt(dd / elements) > ignored_ &&
                          (ratios.back() < kLostRatio || dg * dg >= kAlong * dd * gg));
    }
    usual = ratios;
    const auto median = usual.begin() + (length - 1) / 2;
    std::nth_element(usual.begin(), median, usual.end());
    for (size_t i = 0; i < ratios.size(); ++i) {
      const double ratio = ratios[i];
      if (!may_count[i] || ratio < kOffByTenth || !(ratio > kFarAboveOthers * *median)) continue;
      if (!worst || ratio > worst->ratio)
        worst = {ratio, count / length, static_cast<int64_t>(i), axis};
    }
  }
  return worst;
}

std::optional<LostElements::Worst> LostElements::worst() const {
  const auto element = worst_element(), slice = worst_of_few_slices();
  return !element || (slice && slice->ratio > element->ratio) ? slice : element;
}

std::string LostElements::text(const Worst& worst) const {
  if (worst.axis)
    return fmt::format("axis {}, index {}: {} values", *worst.axis, worst.position, worst.count);
  const auto at = static_cast<size_t>(worst.position);
  return fmt::format(
      "{} {}: {:.6g} instead of {:.6g}",
      worst.count == 1 ? "element" : fmt::format("{} elements, the worst", worst.count),
      place_of(worst.position, shape_), target_[at], golden_[at]);
}

}  // namespace plumb::metrics
