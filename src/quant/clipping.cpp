// SPDX-License-Identifier: Apache-2.0
#include "quant/clipping.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/observer.h"

namespace plumb::quant {
namespace {

constexpr size_t kErrorLanes = 8;
constexpr size_t kPiece = 512;  // bins between two looks at whether it is worth going on

// Numbers and how often each is there, in lanes; what is left over in the last has no weight.
struct Bins {
  std::vector<double> centres, weights;

  explicit Bins(std::span<const float> values)
      : centres(values.begin(), values.end()), weights(values.size(), 1) {
    fill_lane();
  }
  // The bins that are not empty.
  explicit Bins(const Histogram& histogram) {
    const auto counts = histogram.counts();
    for (size_t bin = 0; bin < counts.size(); ++bin) {
      if (counts[bin] == 0) continue;
      centres.push_back(histogram.centre(static_cast<int64_t>(bin)));
      weights.push_back(static_cast<double>(counts[bin]));
    }
    fill_lane();
  }

 private:
  void fill_lane() {
    while (centres.size() % kErrorLanes != 0) {
      centres.push_back(0);
      weights.push_back(0);
    }
  }
};

// Added up lane by lane, so that compilers vectorise it and every machine gets the same sum. Ends
// early once it is more than `enough`.
double square_error(const Bins& bins, const Grid& grid, double enough) {
  constexpr double kRound = 0x1.8p52;  // adding and taking it away rounds, half to even
  const double scale = grid.scale, per_scale = 1 / scale;
  const double low = grid.least - grid.zero, high = grid.most - grid.zero;
  double sum = 0;
  for (size_t piece = 0; piece < bins.centres.size() && sum <= enough; piece += kPiece) {
    const size_t end = std::min(piece + kPiece, bins.centres.size());
    double lanes[kErrorLanes] = {};
    for (size_t at = piece; at < end; at += kErrorLanes)
      for (size_t k = 0; k < kErrorLanes; ++k) {
        const double centre = bins.centres[at + k];
        double steps = centre * per_scale;
        steps = steps < low ? low : steps;
        steps = steps > high ? high : steps;
        const double error = centre - ((steps + kRound) - kRound) * scale;
        lanes[k] += bins.weights[at + k] * (error * error);
      }
    for (const double lane : lanes) sum += lane;
  }
  return sum;
}

class RangeSearch {
 public:
  RangeSearch(const Bins& bins, const Scheme& scheme) : bins_(bins), scheme_(scheme) {}

  void try_range(Range range) {
    const double error = square_error(bins_, grid_of(range, scheme_), least_);
    if (error >= least_) return;
    least_ = error;
    best_ = range;
  }
  Range best() const { return best_; }

 private:
  const Bins& bins_;
  const Scheme& scheme_;
  double least_ = std::numeric_limits<double>::infinity();
  Range best_;
};

Range symmetric_range(const Bins& bins, Range all, const Scheme& scheme) {
  const double far = std::max(-all.lo, all.hi), step = 0.8 * far / 100;
  RangeSearch search(bins, scheme);
  const auto try_threshold = [&](double threshold) { search.try_range({-threshold, threshold}); };
  for (int i = 0; i <= 100; ++i) try_threshold(far - i * step);
  const double coarse = search.best().hi;
  for (int i = -4; i <= 4; ++i)
    if (const double finer = coarse + i * step / 5; finer <= far) try_threshold(finer);
  return search.best();
}

Range least_square_range_of(const Bins& bins, Range all, const Scheme& scheme) {
  if (scheme.is_symmetric) return symmetric_range(bins, all, scheme);
  const double min = std::min(all.lo, 0.0), max = std::max(all.hi, 0.0);
  const double low_step = min / 50, high_step = max / 80;
  RangeSearch search(bins, scheme);
  for (int j = 0; j <= (max > 0 ? 60 : 0); ++j)
    for (int i = 0; i <= (min < 0 ? 40 : 0); ++i)
      search.try_range({min - i * low_step, max - j * high_step});
  const Range coarse = search.best();
  const int low_steps = min < 0 ? 4 : 0, high_steps = max > 0 ? 4 : 0;
  for (int j = -high_steps; j <= high_steps; ++j)
    for (int i = -low_steps; i <= low_steps; ++i)
      search.try_range({std::max(coarse.lo - i * low_step / 5, min),
                        std::min(coarse.hi - j * high_step / 5, max)});
  return search.best();
}

}  // namespace

double mean_square_error(const Histogram& histogram, Range range, const Scheme& scheme) {
  if (histogram.total() == 0) return 0;
  return square_error(Bins(histogram), grid_of(range, scheme),
                      std::numeric_limits<double>::infinity()) /
         static_cast<double>(histogram.total());
}

Range least_square_range(const Histogram& histogram, Range all, const Scheme& scheme) {
  return least_square_range_of(Bins(histogram), all, scheme);
}

Range least_square_range(std::span<const float> values, Range all, const Scheme& scheme) {
  return least_square_range_of(Bins(values), all, scheme);
}

double entropy_threshold(const Histogram& histogram, bool is_signed) {
  constexpr double kSmoothing = 1e-4;
  // How few numbers happen to fall into many bins looks like a loss inside of each level.
  constexpr int64_t kNumbersInBin = 50;
  constexpr size_t kBinsInLevel = 4;
  // So does a number that is there again and again, as behind a flat background: a level that holds
  // it and its neighbours counts for more than all that lies beyond.
  constexpr double kMostClipped = 0.01;
  const size_t levels = is_signed ? 128 : 256;
  std::vector<int64_t> counts = histogram.magnitudes();
  // The zeros behind a Relu are no part of the shape; they are represented by any grid.
  if (!is_signed && counts.size() > 1) counts[0] = counts[1];
  double width = histogram.width();
  while (std::ssize(counts) * kNumbersInBin > histogram.total()) {
    for (size_t bin = 0; bin < counts.size(); bin += 2)
      counts[bin / 2] = counts[bin] + (bin + 1 < counts.size() ? counts[bin + 1] : 0);
    counts.resize((counts.size() + 1) / 2);
    width *= 2;
    if (counts.size() < kBinsInLevel * levels)
      return static_cast<double>(counts.size()) * width;  // nothing can be told
  }
  counts.resize((counts.size() + levels - 1) / levels * levels);
  // Up to each bin: numbers, bins that are not empty, and the sum of n ln n.
  std::vector<int64_t> numbers{0}, filled{0};
  std::vector<double> logs{0};
  for (const int64_t count : counts) {
    const auto n = static_cast<double>(count);
    numbers.push_back(numbers.back() + count);
    filled.push_back(filled.back() + (count > 0));
    logs.push_back(logs.back() + (count > 0 ? n * std::log(n) : 0));
  }
  const auto total = static_cast<double>(numbers.back());
  double least = std::numeric_limits<double>::infinity();
  size_t best = counts.size();
  for (size_t n = levels; n <= counts.size(); n += levels) {
    if (numbers[n] == 0) continue;
    const double beyond = total - static_cast<double>(numbers[n]);
    if (beyond > kMostClipped * total) continue;
    const auto own = static_cast<double>(counts[n - 1]), last = own + beyond;
    // Sum of P ln P, then minus sum of P ln Q, where Q is the same for all bins of a level.
    double divergence =
        logs[n] - (own > 0 ? own * std::log(own) : 0) + (last > 0 ? last * std::log(last) : 0);
    const bool is_smoothed = own == 0 && beyond > 0;
    const double share = is_smoothed ? 1 - kSmoothing : 1;
    for (size_t level = 0; level < levels; ++level) {
      const size_t from = level * n / levels, to = (level + 1) * n / levels;
      const auto sum = static_cast<double>(numbers[to] - numbers[from]);
      const auto used = static_cast<double>(filled[to] - filled[from]);
      if (sum == 0) continue;
      const double log_q = std::log(share * sum / used / static_cast<double>(numbers[n]));
      const double extra = level + 1 == levels && own > 0 ? beyond : 0;
      divergence -= (sum + extra) * log_q;
    }
    if (is_smoothed) divergence -= beyond * std::log(kSmoothing);
    divergence = divergence / total - std::log(total);
    if (divergence > least) continue;
    least = divergence;
    best = n;
  }
  return static_cast<double>(best) * width;
}

}  // namespace plumb::quant
