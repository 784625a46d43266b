// SPDX-License-Identifier: Apache-2.0
#include "quant/observer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/nearest.h"
#include "metrics/block_stats.h"
#include "quant/clipping.h"

namespace plumb::quant {
namespace {

struct Word {
  std::string_view text;
  Method method;
};
constexpr Word kWords[] = {
    {"minmax", Method::kMinMax},
    {"average", Method::kAverage},
    {"pct", Method::kPercentile},
    {"mse", Method::kMse},
    {"kl", Method::kKl},
    {"MinMax", Method::kMinMax},
    {"Percentile", Method::kPercentile},
    {"MSE", Method::kMse},
    {"KL", Method::kKl},
    {"OBSVR_METHOD_MIN_MAX", Method::kMinMax},
    {"OBSVR_METHOD_MSE_CLIPPING", Method::kMse},
};

Range percentile_range(const Histogram& histogram, double share, bool is_symmetric) {
  const auto total = static_cast<double>(histogram.total());
  if (is_symmetric) {
    const std::vector<int64_t> magnitudes = histogram.magnitudes();
    int64_t inside = 0;
    size_t bin = 0;
    while (bin < magnitudes.size()) {
      inside += magnitudes[bin++];
      if (static_cast<double>(inside) >= share * total) break;
    }
    const double edge = static_cast<double>(bin) * histogram.width();
    return {-edge, edge};
  }
  const double cut = (1 - share) / 2 * total;
  const auto counts = histogram.counts();
  int64_t below = 0, above = 0;
  int64_t low = 0, high = std::ssize(counts) - 1;
  for (; low < high; ++low)
    if (static_cast<double>(below += counts[static_cast<size_t>(low)]) > cut) break;
  for (; high > low; --high)
    if (static_cast<double>(above += counts[static_cast<size_t>(high)]) > cut) break;
  return {histogram.left_edge(low), histogram.left_edge(high + 1)};
}

Range within(Range range, double min, double max) {
  return {std::clamp(range.lo, min, max), std::clamp(range.hi, min, max)};
}

}  // namespace

Result<Observer> observer_from_text(std::string_view text, std::string_view option) {
  const size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  for (const Word& each : kWords) {
    if (each.text != word) continue;
    Observer observer{each.method};
    if (colon == text.npos) return observer;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, observer.percentile);
    if (observer.method == Method::kPercentile && read.ec == std::errc() && read.ptr == end &&
        observer.percentile > 50 && observer.percentile <= 100)
      return observer;
    return Error{"a percentile between 50 and 100 was expected", fmt::format("{} {}", option, text),
                 fmt::format("for example {} pct:99.99", option)};
  }
  const std::vector<std::string> known{"minmax", "average", "pct:99.99", "mse", "kl"};
  return Error{fmt::format("unknown method '{}'", word), fmt::format("{} {}", option, text),
               did_you_mean(word, known) + fmt::format("use one of {}", fmt::join(known, ", "))};
}

std::string text_of(const Observer& observer) {
  if (observer.method == Method::kPercentile) return fmt::format("pct:{}", observer.percentile);
  return std::string(kWords[static_cast<size_t>(observer.method)].text);
}

void SampleObserver::add(std::span<const float> values, Observation& all) {
  Range range;
  bool is_first = true;
  for (size_t at = 0; at < values.size(); at += metrics::kBlock) {
    const auto block = values.subspan(at, std::min<size_t>(metrics::kBlock, values.size() - at));
    const metrics::BlockStats stats = metrics::block_stats(block.data(), std::ssize(block), 0);
    if (!stats.finite) {
      for (const float value : block) all.not_finite += !std::isfinite(value);
      continue;
    }
    all.sum += stats.offset_sum;
    all.sum_squares += stats.sum_squares;
    all.zeros += stats.zeros;
    range = is_first ? Range{stats.min, stats.max}
                     : Range{std::min(range.lo, stats.min), std::max(range.hi, stats.max)};
    is_first = false;
  }
  all.count += std::ssize(values);
  if (is_first) return;
  if (with_histogram_ && all.not_finite == 0) all.histogram.add(values, range);
  min_ = is_empty_ ? range.lo : std::min(min_, range.lo);
  max_ = is_empty_ ? range.hi : std::max(max_, range.hi);
  is_empty_ = false;
}

std::optional<Range> SampleObserver::end(Observation& all) {
  if (is_empty_) return std::nullopt;
  all.min = all.samples == 0 ? min_ : std::min(all.min, min_);
  all.max = all.samples == 0 ? max_ : std::max(all.max, max_);
  all.min_sum += min_;
  all.max_sum += max_;
  ++all.samples;
  is_empty_ = true;
  return Range{min_, max_};
}

Range range_of(const Observation& seen, const Scheme& scheme, const Observer& observer) {
  const Range all{seen.min, seen.max};
  const Histogram& histogram = seen.histogram;
  if (seen.samples == 0) return {};
  if (observer.method == Method::kAverage) {
    const auto samples = static_cast<double>(seen.samples);
    return {seen.min_sum / samples, seen.max_sum / samples};
  }
  if (!observer.needs_histogram() || histogram.total() == 0 || seen.is_constant()) return all;
  switch (observer.method) {
    case Method::kPercentile:
      return within(percentile_range(histogram, observer.percentile / 100, scheme.is_symmetric),
                    scheme.is_symmetric ? -std::max(-seen.min, seen.max) : seen.min,
                    scheme.is_symmetric ? std::max(-seen.min, seen.max) : seen.max);
    case Method::kMse: return least_square_range(histogram, all, scheme);
    default: {
      const double threshold = entropy_threshold(histogram, seen.min < 0);
      return within({-threshold, threshold}, std::min(seen.min, 0.0), std::max(seen.max, 0.0));
    }
  }
}

Range range_of(std::span<const float> values, const Scheme& scheme, const Observer& observer) {
  Observation seen;
  const bool is_exact = observer.method == Method::kMse;
  SampleObserver sample(observer.needs_histogram() && !is_exact);
  sample.add(values, seen);
  sample.end(seen);
  if (is_exact && seen.samples > 0 && !seen.is_constant())
    return least_square_range(values, {seen.min, seen.max}, scheme);
  return range_of(seen, scheme, observer);
}

double clipped_share(const Histogram& histogram, const Grid& grid) {
  if (histogram.total() == 0) return 0;
  const double half = grid.scale / 2;
  int64_t outside = 0;
  const auto counts = histogram.counts();
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    const auto place = static_cast<int64_t>(bin);
    if (histogram.left_edge(place + 1) <= grid.lowest() - half ||
        histogram.left_edge(place) >= grid.highest() + half)
      outside += counts[bin];
  }
  return static_cast<double>(outside) / static_cast<double>(histogram.total());
}

}  // namespace plumb::quant
