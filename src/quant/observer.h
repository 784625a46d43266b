// SPDX-License-Identifier: Apache-2.0
//
// From what calibration saw of a tensor to the range that its integers stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plumb/result.h"
#include "quant/histogram.h"

namespace plumb::quant {

enum class Method : uint8_t { kMinMax, kAverage, kPercentile, kMse, kKl };

struct Observer {
  Method method = Method::kMinMax;
  double percentile = 99.99;  // share of the numbers that stay inside, in percent

  bool needs_histogram() const { return method > Method::kAverage; }
  bool operator==(const Observer&) const = default;
};
// "minmax", "average", "pct:99.99", "mse", "kl"; vendors' own words ("MSE", "MinMax",
// "OBSVR_METHOD_MSE_CLIPPING", "Percentile") are understood, too. Errors name `option`.
Result<Observer> observer_from_text(std::string_view text, std::string_view option);
std::string text_of(const Observer& observer);

// All numbers of one tensor, or of several that share a grid, over all samples. Sums are made
// sample by sample, in their order, of chunks of fixed size.
struct Observation {
  int64_t samples = 0, count = 0, zeros = 0;
  int64_t not_finite = 0;  // NaN and infinities, which are in none of the numbers below
  double min = 0, max = 0;
  double min_sum = 0, max_sum = 0;  // of the samples' own
  double sum = 0, sum_squares = 0;
  Histogram histogram;

  bool is_constant() const { return min == max; }
};

// Of one sample: the tensors that share a grid are added one after the other, then it ends.
class SampleObserver {
 public:
  explicit SampleObserver(bool with_histogram) : with_histogram_(with_histogram) {}
  void add(std::span<const float> values, Observation& all);
  // What it reached; nothing if it had no numbers.
  std::optional<Range> end(Observation& all);

 private:
  bool with_histogram_;
  bool is_empty_ = true;
  double min_ = 0, max_ = 0;
};

Range range_of(const Observation& seen, const Scheme& scheme, const Observer& observer);

// The same of weights, which are all there: for clipping them.
Range range_of(std::span<const float> values, const Scheme& scheme, const Observer& observer);

// What a grid of this range costs in mean square, of the numbers in a histogram (as the centres of
// their bins): the measure that Method::kMse makes least.
double mean_square_error(const Histogram& histogram, Range range, const Scheme& scheme);
// The share of numbers outside of what a grid can represent.
double clipped_share(const Histogram& histogram, const Grid& grid);

}  // namespace plumb::quant
