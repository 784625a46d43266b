// SPDX-License-Identifier: Apache-2.0
//
// The table of all metrics, in the order of columns: a new one is a line here and a file beside
// this one that holds the function it names.
#include <algorithm>
#include <array>

#include "metrics/finish.h"

namespace plumb::metrics {

Finish cosine, pearson;
Finish max_abs, mean_abs, rmse, euclid;                           // absolute.cpp
Finish max_rel, mean_rel, acc_rel, rel_below_1e3, rel_below_5e3;  // relative.cpp
Finish rel_euclid, kl, sqnr_db, max_ulp, max_err_to_range, norm_ratio, bulk_rel_euclid, off_share;
Finish equal_share;
Finish target_min, target_max, target_mean, target_std, target_l2;  // side_statistics.cpp
Finish target_nan, target_inf, target_zeros, target_crc32;
Finish golden_min, golden_max, golden_mean, golden_std, golden_l2;
Finish golden_nan, golden_inf, golden_zeros, golden_crc32;
Finish target_at_limit, golden_at_limit;  // limits.cpp

std::span<const Metric> metrics() {
  using enum Needs;
  using enum Better;
  using enum Print;
  // clang-format off
  static constexpr std::array kMetrics{
      Metric{"cosine", "cosine of the angle between target and golden", kSums, kHigher, kNumber, cosine},
      Metric{"pearson", "correlation: the cosine after taking away the means", kSums, kHigher, kNumber, pearson},
      Metric{"max_abs", "largest |target - golden|", kSums, kLower, kNumber, max_abs},
      Metric{"mean_abs", "mean of |target - golden|", kSums, kLower, kNumber, mean_abs},
      Metric{"rmse", "root of the mean squared error", kSums, kLower, kNumber, rmse},
      Metric{"max_rel", "largest |target - golden| / |golden|", kSums, kLower, kNumber, max_rel},
      Metric{"mean_rel", "mean of |target - golden| / |golden|", kRelative, kLower, kNumber, mean_rel},
      Metric{"acc_rel", "accumulated relative error: sum of |target - golden| / |golden|", kRelative, kLower, kNumber, acc_rel},
      Metric{"euclid", "Euclidean distance", kSums, kLower, kNumber, euclid},
      Metric{"rel_euclid", "Euclidean distance over the length of golden", kSums, kLower, kNumber, rel_euclid},
      Metric{"kl", "Kullback-Leibler divergence of the normalised values", kKl, kLower, kNumber, kl},
      Metric{"sqnr_db", "signal to quantization noise, in decibel", kSums, kHigher, kNumber, sqnr_db},
      Metric{"max_ulp", "largest number of steps of the coarser type between two values", kUlp, kLower, kCount, max_ulp},
      Metric{"max_err_to_range", "largest error over the range of golden", kSums, kLower, kNumber, max_err_to_range},
      Metric{"norm_ratio", "length of target over length of golden", kSums, kNearOne, kNumber, norm_ratio},
      Metric{"bulk_rel_euclid", "rel_euclid over the 99 % of elements with the smallest |golden|", kBulk, kLower, kNumber, bulk_rel_euclid},
      Metric{"off_share", "share of elements whose error is beyond half of golden", kBulk, kLower, kNumber, off_share},
      Metric{"rel_below_1e3", "share of elements with a relative error below 0.001", kRelative, kHigher, kNumber, rel_below_1e3},
      Metric{"rel_below_5e3", "share of elements with a relative error below 0.005", kRelative, kHigher, kNumber, rel_below_5e3},
      Metric{"equal_share", "share of elements that are equal", kSums, kHigher, kNumber, equal_share},
      Metric{"target_min", "smallest value of target", kSums, kNeither, kNumber, target_min},
      Metric{"target_max", "largest value of target", kSums, kNeither, kNumber, target_max},
      Metric{"target_mean", "mean of target", kSums, kNeither, kNumber, target_mean},
      Metric{"target_std", "standard deviation of target", kSums, kNeither, kNumber, target_std},
      Metric{"target_l2", "length of target", kSums, kNeither, kNumber, target_l2},
      Metric{"target_nan", "NaN in target", kSums, kNeither, kCount, target_nan},
      Metric{"target_inf", "infinities in target", kSums, kNeither, kCount, target_inf},
      Metric{"target_at_limit", "values of target at the limit of its type, infinities included", kLimits, kNeither, kCount, target_at_limit},
      Metric{"target_zeros", "zeros in target", kSums, kNeither, kCount, target_zeros},
      Metric{"target_crc32", "checksum of target's bytes", kCrc32, kNeither, kHex, target_crc32},
      Metric{"golden_min", "smallest value of golden", kSums, kNeither, kNumber, golden_min},
      Metric{"golden_max", "largest value of golden", kSums, kNeither, kNumber, golden_max},
      Metric{"golden_mean", "mean of golden", kSums, kNeither, kNumber, golden_mean},
      Metric{"golden_std", "standard deviation of golden", kSums, kNeither, kNumber, golden_std},
      Metric{"golden_l2", "length of golden", kSums, kNeither, kNumber, golden_l2},
      Metric{"golden_nan", "NaN in golden", kSums, kNeither, kCount, golden_nan},
      Metric{"golden_inf", "infinities in golden", kSums, kNeither, kCount, golden_inf},
      Metric{"golden_at_limit", "values of golden at the limit of its type, infinities included", kLimits, kNeither, kCount, golden_at_limit},
      Metric{"golden_zeros", "zeros in golden", kSums, kNeither, kCount, golden_zeros},
      Metric{"golden_crc32", "checksum of golden's bytes", kCrc32, kNeither, kHex, golden_crc32},
  };
  // clang-format on
  return kMetrics;
}

const Metric* metric_by_name(std::string_view name) {
  const auto all = metrics();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.name == name; });
  return found != all.end() ? &*found : nullptr;
}

}  // namespace plumb::metrics
