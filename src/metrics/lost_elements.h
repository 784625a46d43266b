// SPDX-License-Identifier: Apache-2.0
//
// Single elements that are lost, in tensors of which every element counts: the score of a detection
// beside its box in pixels. No slice along an axis has enough values to tell there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/accumulator.h"

namespace plumb::metrics {

class LostElements {
 public:
  // If there may be any: in a small tensor of floats that agrees as a whole.
  static bool may_be_in(const PairFacts& first);
  LostElements(const PairFacts& first, Shape shape);

  void add(const double* target, const double* golden, int64_t count);
  void append(const LostElements& later);

  // Elements that are off by a third of golden or more, and by more than anything else explains:
  // six times the largest error of those that agree, beyond what rounding of their own value
  // leaves; in a slice of much smaller values than the tensor's, of those in the slice. Of what is
  // gone, an element or all of a slice of a few, less is too much: noise seldom
  // ends at zero, and never again and again. Or a slice of other units than the tensor's, one of a
  // few, that is off by far more of itself than they are. nullopt if there is none, or if hardly an
  // element agrees.
  struct Worst {
    double ratio = 0;      // the largest |d| / |g| among them; infinite where golden is zero
    int64_t count = 0;     // how many there are
    int64_t position = 0;  // of the one with that ratio
    std::optional<size_t> axis = {};  // of a slice: then `position` is its index, and the ratio
                                      // that of the root mean squares
  };
  std::optional<Worst> worst() const;
  // "element [0, 4]: 0 instead of 0.91", "3 elements, the worst [2, 4]: 0 instead of 0.91"
  std::string text(const Worst& worst) const;

 private:
  struct Noise {
    double largest = 0;
    int64_t elements = 0;
    bool is_any = false;  // of whatever size, rounding included
  };
  Noise noise_of(const std::vector<size_t>& places, double agree, double steps = 0.5) const;
  std::vector<bool> gone(const Noise& noise) const;
  std::vector<bool> far_off_in_slices() const;
  bool is_far_off(size_t i, double most) const;
  std::optional<Worst> worst_element() const;
  std::optional<Worst> worst_of_few_slices() const;
  std::vector<double> steps() const;
  bool is_gone(const std::vector<size_t>& places, double most) const;  // a slice

  Shape shape_;
  double rounding_;  // of the coarser type, relatively
  double ignored_;
  double rms_;      // of golden
  double largest_;  // |golden|
  std::vector<double> target_, golden_;
};

}  // namespace plumb::metrics
