// SPDX-License-Identifier: Apache-2.0
#include "compare/worst_slice.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "metrics/decoded_pairs.h"
#include "metrics/slice_rel_euclid.h"
#include "tensor/decode.h"

namespace plumb::compare {
namespace {

using metrics::PairFacts;
using metrics::SliceSums;

constexpr int64_t kSomeRuns = 16;  // of golden, evenly spread
constexpr int64_t kFewRuns = 4;    // fewer are read whole
constexpr int64_t kValuesAtOnce = 1 << 14;
constexpr int64_t kMostIndices = 1 << 16;           // of an axis whose slices may follow golden
constexpr int64_t kMostDoubted = int64_t{1} << 26;  // elements of a tensor
constexpr double kAloneIsNoNoise = 4;               // beside the noise of the slice itself

// The values of a tensor, read anew, as they enter the sums. Complex numbers are two each.
class Numbers {
 public:
  Numbers(dump::EntryReader tensor, const std::optional<MaskValues>& mask, int exponent)
      : tensor_(std::move(tensor)),
        mask_(mask),
        exponent_(exponent),
        part_(metrics::part_of(tensor_.reader().dtype())),
        parts_(part_ == tensor_.reader().dtype() ? 1 : 2) {}

  const Shape& shape() { return tensor_.reader().shape(); }
  bool is_random_access() { return tensor_.reader().is_random_access(); }
  int64_t count() { return tensor_.reader().count() * parts_; }
  // From an element on; valid until the next call. Marks are `in_place_of_mark`.
  Result<std::span<const double>> read(int64_t first, int64_t count, double in_place_of_mark) {
    auto bytes = tensor_.reader().read(first / parts_, count / parts_);
    if (!bytes) return std::move(bytes.error()).in(tensor_.path());
    numbers_.resize(static_cast<size_t>(count));
    decode_double(part_, bytes->data(), count, numbers_.data());
    if (mask_ || exponent_ != 0)
      for (double& number : numbers_)
        number =
            mask_ && mask_->is_mark(number) ? in_place_of_mark : std::ldexp(number, -exponent_);
    return std::span<const double>(numbers_);
  }

 private:
  dump::EntryReader tensor_;
  const std::optional<MaskValues>& mask_;
  int exponent_;
  DType part_;
  int64_t parts_;
  std::vector<double> numbers_;
};

// What is left of golden in a slice.
struct Rest {
  double usual = 0;  // error of an element, see SliceSums::Doubtful; negative: not in doubt
  int64_t elements = 0, others = 0;  // finite pairs, and those where golden is not zero
  double tt = 0, tg = 0, gg = 0;
  // If asked for: of errors d, and of golden from its first value on, v.
  bool is_asked = false;
  bool is_of_map = false;  // a channel of a picture: in the unit of all others
  double first = 0;
  double d = 0, v = 0, dd = 0, dv = 0, vv = 0, ddv = 0, dvv = 0, ddvv = 0;

  void add(double target, double golden) {
    ++elements;
    others += golden != 0;
    tt += target * target;
    tg += target * golden;
    gg += golden * golden;
    if (!is_asked) return;
    if (elements == 1) first = golden;
    const double error = target - golden, value = golden - first, product = error * value;
    d += error;
    v += value;
    dd += error * error;
    dv += product;
    vv += value * value;
    ddv += error * product;
    dvv += product * value;
    ddvv += product * product;
  }
  // What is smaller than the usual error may be noise of golden's own.
  bool may_be_noise() const { return gg <= usual * usual * static_cast<double>(elements); }
  double ratio() const { return std::sqrt((is_asked ? dd : std::max(tt - 2 * tg + gg, 0.0)) / gg); }
  // Noise is added to golden: the error points nowhere, beside its own size as beside the usual.
  bool is_lost() const {
    if (others < metrics::kSmallestSlice || ratio() < metrics::kLostRatio) return false;
    if (may_be_noise()) return false;
    const double away = (gg - tg) / std::sqrt(gg);
    const double own = std::max(tt - tg * tg / gg, 0.0) / static_cast<double>(elements);
    return away > metrics::kNoNoise * usual && away > kAloneIsNoNoise * std::sqrt(own);
  }
  // Errors that rise and fall with golden: it was scaled, or other values stand in its place. A sum
  // of terms without direction is seldom four times the root of their squares, and hardly ever six
  // times, however uneven these are.
  bool follows_golden() const {
    constexpr double kMuch = 0.15, kMost = 0.8;  // of golden's variation; of the error's
    constexpr double kSeldom = 4, kNoChance = 6;
    constexpr double kBeyondNoise = 4;  // times the usual error
    const auto n = static_cast<double>(elements);
    const double mean_d = d / n, mean_v = v / n;
    const double along = dv - d * mean_v, varies = vv - v * mean_v, varied = dd - d * mean_d;
    const double squares = ddvv - 2 * mean_v * ddv + mean_v * mean_v * dd -
                           2 * mean_d * (dvv - 2 * mean_v * dv + mean_v * mean_v * d) +
                           mean_d * mean_d * varies;
    if (!(varies > 0) || !(squares > 0)) return false;
    const double slope = along / varies, chance = std::fabs(along) / std::sqrt(squares);
    const bool is_scaled =
        std::fabs(slope) >= kMuch && along * slope >= kMost * varied && chance > kSeldom;
    // A gate that is nearly closed is off by a factor of its own, too.
    const double gate = kBeyondNoise * usual;
    if (is_of_map && gg <= gate * gate * n) return false;
    return is_scaled || (slope <= -kMost && chance > kNoChance && !may_be_noise());
  }
};

struct DoubtfulAxis {
  size_t number;
  int64_t stride;
  std::vector<Rest> slices;
};

std::vector<DoubtfulAxis> axes_of(const std::vector<SliceSums::Doubtful>& doubtful) {
  std::vector<DoubtfulAxis> axes;
  for (const SliceSums::Doubtful& each : doubtful) {
    if (axes.empty() || axes.back().number != each.axis)
      axes.push_back(
          {each.axis, each.stride, std::vector<Rest>(static_cast<size_t>(each.length), Rest{-1})});
    axes.back().slices[static_cast<size_t>(each.index)].usual = each.usual;
  }
  return axes;
}

// Adds pairs from an element on to their slices, stretch by stretch of one.
void add_pairs(std::span<const double> t, std::span<const double> g, int64_t first,
               DoubtfulAxis& axis) {
  auto index = static_cast<size_t>(first / axis.stride) % axis.slices.size();
  size_t left = static_cast<size_t>(axis.stride - first % axis.stride);
  for (size_t i = 0; i < t.size(); left = static_cast<size_t>(axis.stride)) {
    const size_t end = std::min(t.size(), i + left);
    Rest& rest = axis.slices[index];
    if (rest.usual >= 0)
      for (size_t k = i; k < end; ++k)
        if (std::isfinite(t[k]) && std::isfinite(g[k])) rest.add(t[k], g[k]);
    i = end;
    if (++index == axis.slices.size()) index = 0;
  }
}

Result<void> read_doubtful(Numbers& target, Numbers& golden, std::vector<DoubtfulAxis>& axes,
                           const RunContext& context) {
  for (int64_t first = 0; first < golden.count() && !context.cancelled; first += kValuesAtOnce) {
    const int64_t count = std::min(kValuesAtOnce, golden.count() - first);
    const auto t = target.read(first, count, NAN), g = golden.read(first, count, NAN);
    if (!t) return t.error();
    if (!g) return g.error();
    for (DoubtfulAxis& axis : axes) add_pairs(*t, *g, first, axis);
  }
  return {};
}

void take_worse(const std::vector<DoubtfulAxis>& axes, int64_t count,
                bool (Rest::*is_wrong)() const, std::optional<SliceSums::Worst>& worst) {
  for (const DoubtfulAxis& axis : axes) {
    for (int64_t i = 0; i < std::ssize(axis.slices); ++i) {
      const Rest& rest = axis.slices[static_cast<size_t>(i)];
      if (rest.usual < 0 || !(rest.*is_wrong)()) continue;
      if (!worst || rest.ratio() > worst->ratio)
        worst = {rest.ratio(), axis.number, i, count / std::ssize(axis.slices), false};
    }
  }
}

// The errors of some elements of each slice of an axis.
struct SampledAxis {
  struct Some {
    int64_t elements = 0;
    double dd = 0, gg = 0;
    void add(const Some& more) {
      elements += more.elements;
      dd += more.dd;
      gg += more.gg;
    }
  };
  size_t number;
  int64_t stride;
  bool is_of_maps;  // along it lie maps of two axes or more, not columns
  std::vector<Some> slices;

  // Those that may be off by `least` of golden, if there are any.
  std::optional<DoubtfulAxis> doubtful(double least, double ignored) const {
    constexpr int64_t kFewestElements = 16;
    DoubtfulAxis found{number, stride, std::vector<Rest>(slices.size(), Rest{-1})};
    std::vector<double> squares;
    bool is_any = false;
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto& [elements, dd, gg] = slices[i];
      if (elements < kFewestElements) continue;
      squares.push_back(dd / static_cast<double>(elements));
      if (dd < least * least * gg || !(squares.back() > ignored * ignored)) continue;
      found.slices[i].usual = 0;
      is_any = true;
    }
    if (!is_any) return std::nullopt;
    const auto median = squares.begin() + (std::ssize(squares) - 1) / 2;
    std::nth_element(squares.begin(), median, squares.end());
    for (Rest& rest : found.slices)
      if (rest.usual == 0)
        rest = {.usual = std::sqrt(*median), .is_asked = true, .is_of_map = is_of_maps};
    return found;
  }
};

bool lies_in_front_of_maps(const Shape& shape, size_t number) {
  return std::count_if(shape.begin() + static_cast<int64_t>(number) + 1, shape.end(),
                       [](int64_t length) { return length > 1; }) >= 2;
}

std::vector<SampledAxis> judged_axes(const Shape& shape, int64_t count) {
  std::vector<SampledAxis> axes;
  int64_t stride = count;
  for (size_t number = 0; number < shape.size(); ++number) {
    stride /= std::max<int64_t>(shape[number], 1);
    if (shape[number] > 1 && shape[number] <= kMostIndices &&
        count / shape[number] >= metrics::kSmallestSlice)
      axes.push_back({number, stride, lies_in_front_of_maps(shape, number),
                      std::vector<SampledAxis::Some>(static_cast<size_t>(shape[number]))});
  }
  return axes;
}

// Adds neighbours from an element on to their slices, stretch by stretch of one.
void add_some(std::span<const double> t, std::span<const double> g, int64_t first,
              SampledAxis& axis) {
  auto index = static_cast<size_t>(first / axis.stride) % axis.slices.size();
  size_t left = static_cast<size_t>(axis.stride - first % axis.stride);
  for (size_t i = 0; i < t.size(); left = static_cast<size_t>(axis.stride)) {
    const size_t end = std::min(t.size(), i + left);
    for (SampledAxis::Some& some = axis.slices[index]; i < end; ++i) {
      const double error = t[i] - g[i], dd = error * error;
      if (std::isfinite(dd)) some.add({1, dd, g[i] * g[i]});
    }
    if (++index == axis.slices.size()) index = 0;
  }
}

// One pair.
class SliceSearch {
 public:
  SliceSearch(const dump::EntryReader& target, const dump::EntryReader& golden,
              const std::optional<MaskValues>& mask, SliceSums& slices, PairFacts& facts,
              const RunContext& context)
      : target_(target),
        golden_(golden),
        mask_(mask),
        slices_(slices),
        facts_(facts),
        ignored_(metrics::ignored_in_slices(facts)),
        context_(context) {}

  // Errors that stand out. Of golden, some runs are read first: mostly they tell that it is large.
  Result<void> find_standing_out(bool exactly) {
    const auto is_settled = [&](bool by_bound) {
      facts_.worst_slice = slices_.worst(ignored_);
      const auto& worst = facts_.worst_slice;
      return !worst || !worst->is_bound || (by_bound && worst->ratio <= metrics::kSmallRatio);
    };
    if (is_settled(false)) return {};
    auto golden = numbers_of(golden_);
    if (!golden) return golden.error();
    const int64_t runs = ceil_div(golden->count(), slices_.period());
    if (runs > 2 * kSomeRuns && !exactly && golden->is_random_access()) {
      if (auto added = add_golden(*golden, kSomeRuns); !added) return added;
      if (is_settled(true)) return {};
      slices_.forget_golden();
    }
    if (auto added = add_golden(*golden, runs); !added) return added;
    slices_.set_golden_is_whole();
    facts_.worst_slice = slices_.worst(ignored_);
    return {};
  }

  // What no limits allow need not be looked at for more.
  bool agrees_as_whole() const {
    constexpr double kLargest = 0.25;  // rel_euclid; a cosine of 0.98 allows 0.2
    return facts_.sums.dd <= kLargest * kLargest * facts_.sums.gg;
  }

  // Slices that are lost without that.
  Result<void> find_lost() {
    if (!agrees_as_whole()) return {};
    auto doubtful = doubtful_slices();
    if (doubtful.empty()) return {};
    auto golden = numbers_of(golden_), target = numbers_of(target_);
    if (!golden) return golden.error();
    if (!target) return target.error();
    const int64_t runs = ceil_div(golden->count(), slices_.period());
    const auto is_bound = [](const SliceSums::Doubtful& each) { return each.is_bound; };
    if (std::any_of(doubtful.begin(), doubtful.end(), is_bound) && golden->is_random_access() &&
        runs >= kFewRuns) {
      slices_.forget_golden();
      if (auto added = add_golden(*golden, std::min(runs / kFewRuns, kSomeRuns)); !added)
        return added;
      doubtful = doubtful_slices();
    }
    if (doubtful.empty() || golden->count() > kMostDoubted) return {};
    std::vector<DoubtfulAxis> axes = axes_of(doubtful);
    if (auto read = read_doubtful(*target, *golden, axes, context_); !read) return read;
    take_worse(axes, golden->count(), &Rest::is_lost, facts_.worst_slice);
    return {};
  }

  // Slices whose errors follow golden, however small they are beside those of others: some rows of
  // the tensor tell which may be off by a tenth.
  Result<void> find_following() {
    constexpr double kMayBe = 0.07;
    if (!agrees_as_whole() || facts_.sums.rel_max < kMayBe) return {};
    auto golden = numbers_of(golden_), target = numbers_of(target_);
    if (!golden) return golden.error();
    if (!target) return target.error();
    if (golden->count() > kMostDoubted) return {};
    std::vector<SampledAxis> sampled = judged_axes(golden->shape(), golden->count());
    if (sampled.empty()) return {};
    if (auto read = read_some(*target, *golden, sampled); !read) return read;
    // What is off by no more than the whole is not hidden.
    const double least = std::max(kMayBe, 3 * std::sqrt(facts_.sums.dd / facts_.sums.gg));
    std::vector<DoubtfulAxis> axes;
    for (const SampledAxis& axis : sampled)
      if (auto doubtful = axis.doubtful(least, ignored_)) axes.push_back(std::move(*doubtful));
    if (axes.empty()) return {};
    if (auto read = read_doubtful(*target, *golden, axes, context_); !read) return read;
    take_worse(axes, golden->count(), &Rest::follows_golden, facts_.worst_slice);
    return {};
  }

 private:
  // Pieces here and there, 4096 elements or more, one of 127: every so many that they fall on all
  // indices of an axis in turn.
  Result<void> read_some(Numbers& target, Numbers& golden, std::vector<SampledAxis>& axes) const {
    constexpr int64_t kLeast = 1 << 12, kPiece = 32;
    const int64_t count = golden.count();
    int64_t step = 1;
    for (const int64_t prime : {2, 3, 7, 13, 31, 61, 127})
      if (prime <= count / kLeast) step = prime;
    for (int64_t first = 0; first < count && !context_.cancelled; first += step * kPiece) {
      const int64_t n = std::min(kPiece, count - first);
      const auto t = target.read(first, n, NAN), g = golden.read(first, n, NAN);
      if (!t) return t.error();
      if (!g) return g.error();
      for (SampledAxis& axis : axes) add_some(*t, *g, first, axis);
    }
    return {};
  }

  Result<Numbers> numbers_of(const dump::EntryReader& tensor) const {
    auto again = tensor.again();
    if (!again) return again.error();
    return Numbers(std::move(*again), mask_, facts_.sums.exponent);
  }

  std::vector<SliceSums::Doubtful> doubtful_slices() const {
    return slices_.doubtful(ignored_, facts_.sums.off_by_half);
  }

  // So many runs, evenly spread.
  Result<void> add_golden(Numbers& golden, int64_t some) {
    const int64_t period = slices_.period(), step = ceil_div(golden.count(), period) / some;
    for (int64_t i = 0; i < some && !context_.cancelled; ++i) {
      const int64_t first = i * step * period;
      auto run = golden.read(first, std::min(period, golden.count() - first), 0);
      if (!run) return run.error();
      slices_.add_golden(run->data(), std::ssize(*run));
    }
    return {};
  }

  const dump::EntryReader &target_, &golden_;
  const std::optional<MaskValues>& mask_;
  SliceSums& slices_;
  PairFacts& facts_;
  double ignored_;
  const RunContext& context_;
};

}  // namespace

Result<void> find_worst_slice(const dump::EntryReader& target, const dump::EntryReader& golden,
                              bool exactly, const std::optional<MaskValues>& mask,
                              SliceSums& slices, PairFacts& facts, const RunContext& context) {
  SliceSearch search(target, golden, mask, slices, facts, context);
  auto done = search.find_standing_out(exactly);
  const auto& worst = facts.worst_slice;
  if (!done || (worst && !worst->is_bound && worst->ratio >= metrics::kLostRatio)) return done;
  if (auto lost = search.find_lost(); !lost) return lost;
  return search.find_following();
}

}  // namespace plumb::compare
