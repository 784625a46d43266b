// SPDX-License-Identifier: Apache-2.0
//
// Squares of errors and of golden's values for every slice along every axis of a tensor, gathered
// beside the sums of the first pass: a few large values must not hide that a channel, a row or a
// sample is wrong.
//
// The axes are split in two groups. A run over the inner ones is contiguous, and its sums belong to
// one index of each outer axis. For the inner ones the squares of errors are summed at every place
// of a run, and added up by index at the end. Those of golden are wanted only where errors stand
// out, and mostly some runs are enough to tell that golden is large there: they are added later.
#pragma once

#include <optional>
#include <vector>

#include "tensor/shape.h"

namespace plumb::metrics {

inline constexpr int64_t kSmallestSlice = 16;    // elements: fewer say little
inline constexpr int64_t kMostSlices = 1 << 18;  // of an axis: a longer one is left out
inline constexpr double kSmallRatio = 0.01;      // a bound of it will do where no limit is stricter
inline constexpr double kLostRatio = 0.9;        // of error and golden: nothing of it is left
// How far an error points away from golden, beside the usual one of an element: no noise does that.
inline constexpr double kNoNoise = 9;

class SliceSums {
 public:
  // `shape` is that of golden. Complex numbers have one more axis, for their parts.
  explicit SliceSums(const Shape& shape);

  int64_t period() const { return period_; }
  int64_t bytes() const { return static_cast<int64_t>(size_ * sizeof(double)); }

  // How many pairs from `position` on to take at once: of one run, about as many each time. Where
  // to add the squares of their errors; nullptr if that is not wanted.
  int64_t block_at(int64_t position, int64_t most) const;
  double* places(int64_t position);
  // The sums of those pairs. Neighbours follow each other, from any position on.
  void add_run(int64_t position, int64_t count, double dd, double gg);
  // A pair that is off by half, golden's size being that. Where many are, the rest is not looked
  // at.
  void add_off(double size, double error);
  bool wants_off(int64_t off, int64_t of) const { return 5 * off <= of; }
  void append(SliceSums&& later);  // of the same shape

  // True if the pairs that are off by half in some band of magnitude, from a power of two to the
  // next, have errors far above those of the others: then that band may be lost. `dd` and `count`
  // are of all pairs.
  bool may_lose_band(double dd, int64_t count, double ignored) const;

  // The worst slice: that with the largest error relative to its golden values among those whose
  // error stands out, the more so the less of golden is wrong. See docs/metrics.md.
  struct Worst {
    double ratio = 0;  // of the root mean squares of error and golden
    size_t axis = 0;   // of the shape
    int64_t index = 0, elements = 0;
    bool is_bound = false;  // not all of golden was added: it is not more than this
  };
  // An error with a root mean square of at most `ignored` does not stand out. nullopt if none does.
  std::optional<Worst> worst(double ignored) const;

  // A slice whose error is no larger than usual, though it may be all that golden has there.
  struct Doubtful {
    size_t axis = 0;  // of the shape
    int64_t index = 0, length = 0, stride = 0;
    double usual = 0;       // root mean square of the errors in a usual slice of that axis
    bool is_bound = false;  // as Worst's
  };
  // `off`: pairs of all slices that are off by half.
  std::vector<Doubtful> doubtful(double ignored, int64_t off) const;

  // Golden's values of an inner axis, if worst() is a bound: of some whole runs, or of all.
  void add_golden(const double* golden, int64_t count);  // from the start of a run on
  void forget_golden();
  void set_golden_is_whole() { golden_is_whole_ = true; }

 private:
  struct Axis {
    size_t number;           // in the shape
    int64_t length, stride;  // in elements
    bool is_judged;
    size_t sums;  // of an outer one: where its sums are, those of errors first
  };
  struct Band {
    int64_t count = 0;
    double dd = 0;
  };
  struct Squares {
    double dd = 0, gg = 0;
  };
  struct Usual {
    double dd, square_ratio;  // medians: of squares of errors, and of what they are of golden's
  };
  void split(const std::vector<Axis>& axes);
  void go_to(int64_t position);
  void end_run();
  static double median_of(const std::vector<Squares>& slices);  // squares of errors
  static Usual usual_beside_golden(const std::vector<Squares>& slices, double median);
  std::vector<Squares> of_outer(const Axis& axis) const;
  std::vector<Squares> of_inner(const Axis& axis) const;

  int64_t count_ = 0;
  std::vector<Axis> outer_, inner_;
  int64_t period_ = 0;          // of the inner axes, or some of those where nobody asks for runs
  bool has_places_ = false;     // some inner axis is judged
  size_t size_ = 0;             // of `sums_`, once there is a pair
  std::vector<double> sums_;    // errors by place, then those of outer axes
  std::vector<double> golden_;  // by place
  bool golden_is_whole_ = false;
  std::vector<Band> off_;    // by power of two
  int64_t position_ = -1;    // where the next pairs are to start
  std::vector<int64_t> at_;  // index on each outer axis there
};

}  // namespace plumb::metrics
