// SPDX-License-Identifier: Apache-2.0
//
// What all explanations of transforms.cpp share: the pair, prepared once, and the one test that a
// prediction of the target has to pass before it is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace plumb::diagnose {

// Borrows the numbers. All are finite.
struct Problem {
  std::span<const double> target;
  std::span<const double> golden;    // as it is, or already rearranged
  std::span<const double> original;  // golden as it is
  Shape shape;                       // of golden; its last elements may be missing
  Shape target_shape;
  DType target_dtype = DType::kFloat32;
  double noise = 0;          // relative error that is normal
  double alternatives = 1;   // ways of rearranging golden that were tried before
  double least_covered = 1;  // share of the target that has to be predicted; less of a beginning
  double mean = 0;           // of the target
  double median = 0;         // of it
  double bulk = 0;           // 99 % of the target are at most so far from the median
  double distinct = 0;       // values of golden, counted in the sample
  std::vector<int64_t> sample = {};  // places of the target to look at first, not zeros if possible

  int64_t count() const { return std::ssize(target); }
};

// Target and golden may have different numbers of elements; then `original` is no help.
Problem problem_of(std::span<const double> target, std::span<const double> golden);

// What was adapted to the data, and so explains less.
struct Freedom {
  double parameters = 0;     // fitted numbers
  double alternatives = 1;   // from which the best was chosen
  double least_covered = 1;  // ... of that share
  // The part of the target's norm that is not due to fitted offsets; nan: deviation from its mean.
  double centred = std::numeric_limits<double>::quiet_NaN();
  bool has_original = true;  // golden in place is an alternative explanation
};

// The target at a place; nan where nothing is said of it.
using Predict = std::function<double(int64_t place)>;

// The relative error that remains if the prediction explains the target almost exactly: at most
// 4 noise, or 2 % of the error and of the target's deviation from its mean; in any case a quarter
// of the error, or a tenth where more than noise remains; also without the 1 % largest values, and
// by more than chance. Else nullopt. Looks at the sample first.
std::optional<double> remaining_after(const Problem& problem, const Predict& predict,
                                      const Freedom& freedom);

// True if what a straight line leaves of the target depends on golden: then it is another function,
// and the line only near it. `standard` is golden with mean 0 and deviation 1, in each of `groups`.
bool is_curved(const Problem& problem, const Predict& line, const Predict& standard,
               const std::function<int64_t(int64_t place)>& group, int64_t groups);

struct Claim {
  std::string detail, text;
  double remaining = 0;
};

// Nothing that is less simple is preferred to it.
inline bool leaves_only_noise(const Problem& problem, const std::vector<Claim>& claims) {
  return !claims.empty() && claims.back().remaining <= problem.noise;
}

}  // namespace plumb::diagnose
