// SPDX-License-Identifier: Apache-2.0
//
// The table of all metrics, in the order of columns: a new one is a line here and a file beside
// this one that holds the function it names, and the accumulator if it takes a second pass.
#include <algorithm>
#include <array>

#include "metrics/finish.h"

namespace plumb::metrics {

Finish cosine, pearson;
Finish max_abs, mean_abs, rmse, euclid;                           // absolute.cpp
Finish max_rel, mean_rel, acc_rel, rel_below_1e3, rel_below_5e3;  // relative.cpp
Finish rel_euclid, kl, sqnr_db, max_ulp, max_err_to_range, norm_ratio, bulk_rel_euclid, off_share;
Finish slice_rel_euclid;
Finish equal_share, close_share;
Finish target_min, target_max, target_mean, target_std, target_l2;  // side_statistics.cpp
Finish target_nan, target_inf, target_zeros;
Finish golden_min, golden_max, golden_mean, golden_std, golden_l2;
Finish golden_nan, golden_inf, golden_zeros;
Finish target_crc32, golden_crc32;        // checksums.cpp
Finish target_at_limit, golden_at_limit;  // limits.cpp
Finish wasserstein;

extern const Accumulator kBulkSums, kCentredSums, kChecksums, kKlSums, kLimitCounts, kMaxUlp;
extern const Accumulator kWasserstein;

std::span<const Metric> metrics() {
  using enum Better;
  using enum Print;
  constexpr bool kRelative = true, kShares = true, kSlices = true;
  // clang-format off
  static constexpr std::array kMetrics{
      Metric{"cosine", "cosine of the angle between target and golden", kHigher, kNumber, cosine},
      Metric{"pearson", "correlation: the cosine after taking away the means", kHigher, kNumber, pearson, &kCentredSums},
      Metric{"max_abs", "largest |target - golden|", kLower, kNumber, max_abs},
      Metric{"mean_abs", "mean of |target - golden|", kLower, kNumber, mean_abs},
      Metric{"rmse", "root of the mean squared error", kLower, kNumber, rmse},
      Metric{"max_rel", "largest |target - golden| / |golden|", kLower, kNumber, max_rel},
      Metric{"mean_rel", "mean of |target - golden| / |golden|", kLower, kNumber, mean_rel, nullptr, kRelative},
      Metric{"acc_rel", "accumulated relative error: sum of |target - golden| / |golden|", kLower, kNumber, acc_rel, nullptr, kRelative},
      Metric{"euclid", "Euclidean distance", kLower, kNumber, euclid},
      Metric{"rel_euclid", "Euclidean distance over the length of golden", kLower, kNumber, rel_euclid},
      Metric{"kl", "Kullback-Leibler divergence of the normalised values", kLower, kNumber, kl, &kKlSums},
      Metric{"wasserstein", "distance between the distributions of values over the range of golden", kLower, kNumber, wasserstein, &kWasserstein},
      Metric{"sqnr_db", "signal to quantization noise, in decibel", kHigher, kNumber, sqnr_db},
      Metric{"max_ulp", "largest number of steps of the coarser type between two values", kLower, kCount, max_ulp, &kMaxUlp},
      Metric{"max_err_to_range", "largest error over the range of golden", kLower, kNumber, max_err_to_range},
      Metric{"norm_ratio", "length of target over length of golden", kNearOne, kNumber, norm_ratio},
      Metric{"bulk_rel_euclid", "rel_euclid over the 99 % of elements with the smallest |golden|", kLower, kNumber, bulk_rel_euclid, &kBulkSums},
      Metric{"off_share", "share of elements whose error is beyond half of golden", kLower, kNumber, off_share, &kBulkSums},
      Metric{"slice_rel_euclid", "rel_euclid of the worst slice along any axis, or band of magnitude, whose error stands out", kLower, kNumber, slice_rel_euclid, &kBulkSums, false, false, kSlices},
      Metric{"rel_below_1e3", "share of elements with a relative error below 0.001", kHigher, kNumber, rel_below_1e3, nullptr, false, kShares},
      Metric{"rel_below_5e3", "share of elements with a relative error below 0.005", kHigher, kNumber, rel_below_5e3, nullptr, false, kShares},
      Metric{"equal_share", "share of elements that are equal", kHigher, kNumber, equal_share},
      Metric{"close_share", "share of elements with |target - golden| <= atol + rtol |golden|", kHigher, kNumber, close_share},
      Metric{"target_min", "smallest value of target", kNeither, kNumber, target_min},
      Metric{"target_max", "largest value of target", kNeither, kNumber, target_max},
      Metric{"target_mean", "mean of target", kNeither, kNumber, target_mean},
      Metric{"target_std", "standard deviation of target", kNeither, kNumber, target_std, &kCentredSums},
      Metric{"target_l2", "length of target", kNeither, kNumber, target_l2},
      Metric{"target_nan", "NaN in target", kNeither, kCount, target_nan},
      Metric{"target_inf", "infinities in target", kNeither, kCount, target_inf},
      Metric{"target_at_limit", "values of target at the limit of its type, infinities included", kNeither, kCount, target_at_limit, &kLimitCounts},
      Metric{"target_zeros", "zeros in target", kNeither, kCount, target_zeros},
      Metric{"target_crc32", "checksum of target's bytes", kNeither, kHex, target_crc32, &kChecksums},
      Metric{"golden_min", "smallest value of golden", kNeither, kNumber, golden_min},
      Metric{"golden_max", "largest value of golden", kNeither, kNumber, golden_max},
      Metric{"golden_mean", "mean of golden", kNeither, kNumber, golden_mean},
      Metric{"golden_std", "standard deviation of golden", kNeither, kNumber, golden_std, &kCentredSums},
      Metric{"golden_l2", "length of golden", kNeither, kNumber, golden_l2},
      Metric{"golden_nan", "NaN in golden", kNeither, kCount, golden_nan},
      Metric{"golden_inf", "infinities in golden", kNeither, kCount, golden_inf},
      Metric{"golden_at_limit", "values of golden at the limit of its type, infinities included", kNeither, kCount, golden_at_limit, &kLimitCounts},
      Metric{"golden_zeros", "zeros in golden", kNeither, kCount, golden_zeros},
      Metric{"golden_crc32", "checksum of golden's bytes", kNeither, kHex, golden_crc32, &kChecksums},
  };
  // clang-format on
  return kMetrics;
}

bool Metric::is_free() const {
  return !relative && !shares && !slices && finish != close_share &&
         (needs == nullptr || needs->is_rare);
}

const Metric* metric_by_name(std::string_view name) {
  const auto all = metrics();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Metric& m) { return m.name == name; });
  return found != all.end() ? &*found : nullptr;
}

Request request_for(std::span<const Metric* const> wanted, std::span<const Metric* const> exactly) {
  Request request;
  const auto add = [&](const Metric& metric, bool is_exact) {
    request.relative |= metric.relative;
    request.shares |= metric.shares;
    request.slices |= metric.slices;
    request.slices_exactly |= metric.slices && is_exact;
    if (metric.needs == nullptr) return;
    auto& needs = request.second_pass;
    auto need = std::find_if(needs.begin(), needs.end(), [&](const Request::Need& each) {
      return each.accumulator == metric.needs;
    });
    if (need == needs.end()) need = needs.insert(need, {metric.needs, false});
    need->exactly |= is_exact;
  };
  for (const Metric* metric : wanted) add(*metric, false);
  for (const Metric* metric : exactly) add(*metric, true);
  return request;
}

}  // namespace plumb::metrics
