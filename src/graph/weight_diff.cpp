// SPDX-License-Identifier: Apache-2.0
#include "graph/weight_diff.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "graph/weight_levels.h"
#include "graph/weight_pairs.h"

namespace plumb::graph {
namespace {

constexpr double kFit = 4;                // roundings that an explanation may be off
constexpr int64_t kNumbersPerFactor = 4;  // below, a factor for each channel explains anything
constexpr size_t kMostChannelsNamed = 8;  // channels
constexpr size_t kMostOrderedAxes = 5;    // of which all orders are tried

// Sums over the numbers of a tensor or of a slice of it; without those that are not finite.
struct Sums {
  double tt = 0, gg = 0, tg = 0, t = 0, g = 0, dd = 0;
  int64_t count = 0, differing = 0;

  void add(double own, double golden, bool differs) {
    tt += own * own;
    gg += golden * golden;
    tg += own * golden;
    t += own;
    g += golden;
    dd += (own - golden) * (own - golden);
    ++count;
    if (differs) ++differing;
  }
  double scale() const { return gg > 0 ? tg / gg : 0; }
  double offset() const { return count > 0 ? (t - g) / static_cast<double>(count) : 0; }
};

struct Affine {
  double scale = 1, offset = 0;
};

Affine affine_of(const Sums& s) {
  const auto n = static_cast<double>(s.count);
  const double spread = s.gg - s.g * s.g / n;
  if (!(spread > 1e-12 * s.gg)) return {1, s.offset()};
  const double scale = (s.tg - s.t * s.g / n) / spread;
  return {scale, (s.t - scale * s.g) / n};
}

struct Measured {
  Sums all;
  std::vector<std::vector<Sums>> slices;  // by axis and index
  int64_t nonfinite = 0;                  // numbers that only the target has so
  double max_abs = 0, low = 0, high = 0;  // low, high: of the target
  int64_t first = -1;                     // differing element
};

bool is_same(double t, double g) { return t == g || (std::isnan(t) && std::isnan(g)); }

Measured measure(const ConstantTensor& target, const ConstantTensor& golden, double slack) {
  Measured m;
  std::vector<AxisIndex> axes;
  for (size_t axis = 0; axis < golden.shape().size(); ++axis) {
    axes.emplace_back(golden.shape(), axis);
    m.slices.emplace_back(static_cast<size_t>(golden.shape()[axis]));
  }
  m.low = std::numeric_limits<double>::infinity();
  m.high = -m.low;
  each_pair(target, golden, [&](int64_t i, double t, double g) {
    const bool differs = !is_same(t, g) && !(std::fabs(t - g) <= slack * std::fabs(g));
    if (differs && m.first < 0) m.first = i;
    if (!std::isfinite(t) || !std::isfinite(g)) {
      if (differs) {
        ++m.nonfinite;
        ++m.all.differing;
      }
      return true;
    }
    m.max_abs = std::max(m.max_abs, std::fabs(t - g));
    m.low = std::min(m.low, t);
    m.high = std::max(m.high, t);
    m.all.add(t, g, differs);
    for (size_t axis = 0; axis < axes.size(); ++axis)
      m.slices[axis][axes[axis](i)].add(t, g, differs);
    return true;
  });
  return m;
}

// Finds what turns golden into the target. Numbers are finite, and some differ.
class Explainer {
 public:
  Explainer(const ConstantTensor& target, const ConstantTensor& golden, const Measured& measured,
            WeightDifference& out)
      : t_(target), g_(golden), m_(measured), out_(out) {
    rounding_ = std::max(rounding_of(t_.dtype()), rounding_of(g_.dtype()));
  }

  void explain() {
    const bool found = zeroed() || negated() || casts() || one_place() || affine() ||
                       per_channel() || reordered() || levels() || saturated();
    if (!found) tell("values", "other values");
  }

 private:
  bool tell(std::string detail, std::string words) {
    out_.detail = std::move(detail);
    out_.words = std::move(words);
    return true;
  }

  bool zeroed() { return m_.all.tt == 0 && m_.all.gg > 0 && tell("zeroed", "all zero"); }

  bool negated() {
    return all_are([](double g) { return -g; }) && tell("negated", "of the other sign");
  }

  template <class Expected>
  bool all_are(Expected expected) const {
    return each_pair(t_, g_, [&](int64_t, double t, double g) { return t == expected(g); });
  }

  // 16-bit floats, also where golden is the coarser one.
  bool casts() {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      const std::string name(name_of(dtype));
      const auto rounded = [&](double x) { return rounded_to(dtype, x); };
      if (all_are(rounded)) return tell("cast:" + name, "rounded to " + name);
      if (each_pair(t_, g_, [&](int64_t, double t, double g) { return g == rounded(t); }))
        return tell("golden_cast:" + name, "golden is rounded to " + name + ", the target is not");
    }
    return false;
  }

  // Only one number, or few slices along an axis, differ.
  bool one_place() {
    const Shape& shape = g_.shape();
    size_t long_axes = 0;
    for (const int64_t size : shape) long_axes += size > 1;
    if (m_.all.differing == 1 && long_axes > 1) return one_element();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      std::vector<int64_t> differing;
      for (size_t i = 0; i < m_.slices[axis].size(); ++i)
        if (m_.slices[axis][i].differing > 0) differing.push_back(static_cast<int64_t>(i));
      if (shape[axis] < 2 || differing.empty()) continue;
      const bool is_one = differing.size() == 1;
      if (!is_one &&
          (differing.size() > kMostChannelsNamed || std::ssize(differing) * 4 > shape[axis]))
        continue;
      return channels(axis, differing);
    }
    return false;
  }

  bool one_element() {
    std::vector<int64_t> place;
    for (size_t axis = 0; axis < g_.shape().size(); ++axis)
      place.push_back(static_cast<int64_t>(AxisIndex(g_.shape(), axis)(m_.first)));
    double own = 0, golden = 0;
    t_.read(m_.first, {&own, 1});
    g_.read(m_.first, {&golden, 1});
    return tell("element:" + join(place, ","),
                fmt::format("one number differs, at {}: {} instead of {}", to_string(place),
                            short_number(own), short_number(golden)));
  }

  bool channels(size_t axis, const std::vector<int64_t>& differing) {
    out_.axis = static_cast<int64_t>(axis);
    if (differing.size() > 1)
      return tell("channels:" + join(differing, ","),
                  fmt::format("only indices {} of axis {} differ", join(differing, ", "), axis));
    const int64_t channel = differing.front();
    out_.channel = channel;
    const Sums& sums = m_.slices[axis][static_cast<size_t>(channel)];
    const AxisIndex index(g_.shape(), axis);
    const auto fits = [&](const Affine& map) {
      return each_pair(t_, g_, [&](int64_t i, double t, double g) {
        return index(i) != static_cast<size_t>(channel) || is_near(t, g, map);
      });
    };
    std::string how;
    const bool is_single = sums.count == 1;  // any factor explains one number
    if (sums.tt == 0) {
      how = "zero";
      out_.scale = 0;
    } else if (const Affine map{sums.scale(), 0}; sums.gg > 0 && fits(map)) {
      out_.scale = map.scale;
      how = fmt::format("scaled by {}", short_number(map.scale));
    } else if (const Affine shift{1, sums.offset()}; !is_single && fits(shift)) {
      out_.offset = shift.offset;
      how = fmt::format("shifted by {}", short_number(shift.offset));
    }
    return tell(fmt::format("channel:{}", channel),
                fmt::format("only index {} of axis {} differs{}{}", channel, axis,
                            how.empty() ? "" : ": ", how));
  }

  bool is_near(double t, double g, const Affine& map) const {
    const double product = map.scale * g;
    const double size = std::max(std::fabs(product) + std::fabs(map.offset), std::fabs(t));
    // An offset is known no better than the largest numbers are.
    const double blur = map.offset == 0 ? 0 : std::max(std::fabs(m_.low), std::fabs(m_.high));
    return std::fabs(t - (product + map.offset)) <=
           rounding_ * (kFit * size + blur) + std::numeric_limits<float>::denorm_min();
  }

  // The same for all numbers.
  bool affine() {
    const auto fits = [&](const Affine& map) {
      return each_pair(t_, g_, [&](int64_t, double t, double g) { return is_near(t, g, map); });
    };
    if (const Affine map{m_.all.scale(), 0}; m_.all.gg > 0 && fits(map)) {
      out_.scale = map.scale;
      return tell("scale:" + short_number(map.scale), "scaled by " + short_number(map.scale));
    }
    if (m_.all.count < 2) return false;
    if (const Affine map{1, m_.all.offset()}; fits(map)) {
      out_.offset = map.offset;
      return tell("offset:" + short_number(map.offset), "shifted by " + short_number(map.offset));
    }
    if (m_.all.count < kNumbersPerFactor) return false;
    const Affine map = affine_of(m_.all);
    if (!fits(map)) return false;
    out_.scale = map.scale;
    out_.offset = map.offset;
    return tell(fmt::format("affine:{},{}", short_number(map.scale), short_number(map.offset)),
                fmt::format("scaled by {} and shifted by {}", short_number(map.scale),
                            short_number(map.offset)));
  }

  bool per_channel() {
    for (size_t axis = 0; axis < g_.shape().size(); ++axis) {
      const std::vector<Sums>& slices = m_.slices[axis];
      if (slices.size() < 2 || m_.all.count < kNumbersPerFactor * std::ssize(slices)) continue;
      const auto try_all = [&](auto map_of) {
        std::vector<Affine> maps;
        for (const Sums& slice : slices) maps.push_back(map_of(slice));
        const AxisIndex index(g_.shape(), axis);
        const bool fits = each_pair(
            t_, g_, [&](int64_t i, double t, double g) { return is_near(t, g, maps[index(i)]); });
        if (fits) tell_channels(axis, slices, maps);
        return fits;
      };
      if (try_all([](const Sums& s) { return Affine{s.gg > 0 ? s.scale() : 1, 0}; }))
        return tell("scale_per_channel",
                    fmt::format("each index of axis {} has its own factor, {} to {}", axis,
                                short_number(*out_.smallest_scale), short_number(*out_.scale)));
      if (try_all([](const Sums& s) { return Affine{1, s.offset()}; }))
        return tell("offset_per_channel",
                    fmt::format("each index of axis {} is shifted by its own number", axis));
      if (m_.all.count >= 2 * kNumbersPerFactor * std::ssize(slices) && try_all(affine_of))
        return tell("affine_per_channel",
                    fmt::format("each index of axis {} has its own factor and offset", axis));
    }
    return false;
  }

  void tell_channels(size_t axis, const std::vector<Sums>& slices,
                     const std::vector<Affine>& maps) {
    out_.axis = static_cast<int64_t>(axis);
    for (size_t i = 0; i < maps.size(); ++i) {
      if (slices[i].gg == 0) continue;
      out_.scale = std::max(out_.scale.value_or(maps[i].scale), maps[i].scale);
      out_.smallest_scale = std::min(out_.smallest_scale.value_or(maps[i].scale), maps[i].scale);
    }
  }

  // The same numbers in other places.
  bool reordered() {
    if (t_.elements() < 2) return false;
    for (size_t axis = 0; axis < g_.shape().size(); ++axis)
      if (g_.shape()[axis] > 1 && slices_moved(axis)) return true;
    return axes_exchanged();
  }

  // Each slice by what it holds.
  bool slices_moved(size_t axis) {
    const AxisIndex index(g_.shape(), axis);
    std::vector<uint64_t> own(static_cast<size_t>(index.size), 14695981039346656037U), theirs = own;
    const auto mix = [](uint64_t& print, double value) {
      print = (print ^ std::bit_cast<uint64_t>(value == 0 ? 0.0 : value)) * 1099511628211U;
      print ^= print >> 29;
    };
    each_pair(t_, g_, [&](int64_t i, double t, double g) {
      mix(own[index(i)], t);
      mix(theirs[index(i)], g);
      return true;
    });
    if (std::equal(own.begin(), own.end(), theirs.rbegin())) {
      out_.axis = static_cast<int64_t>(axis);
      return axis < 2 ? tell("channels_reversed", fmt::format("axis {} is reversed", axis))
                      : tell(fmt::format("flip:{}", axis), fmt::format("axis {} is flipped", axis));
    }
    int64_t moved = 0;
    for (size_t i = 0; i < own.size(); ++i) moved += own[i] != theirs[i];
    std::sort(own.begin(), own.end());
    std::sort(theirs.begin(), theirs.end());
    if (own != theirs || moved == 0) return false;
    out_.axis = static_cast<int64_t>(axis);
    return tell(fmt::format("permuted:{}", axis),
                fmt::format("the same slices along axis {} in another order, {} of {} moved", axis,
                            moved, index.size));
  }

 public:
  // Axes in another order; also for tensors of other shapes.
  bool axes_exchanged() {
    const size_t rank = g_.shape().size();
    if (rank < 2 || rank > kMostOrderedAxes || t_.shape().size() != rank) return false;
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) {
      const ConstantTensor turned = g_.permuted(order);
      if (turned.shape() == t_.shape() &&
          each_pair(t_, turned, [](int64_t, double t, double g) { return is_same(t, g); }))
        return tell("axes:" + join(order, ","), "axes in the order " + join(order, ", "));
    }
    return false;
  }

 private:
  bool levels() {
    if (const auto levels = find_levels(t_, g_)) {
      tell_levels(*levels);
      return tell(fmt::format("levels:{}", levels->count),
                  fmt::format("rounded to {} levels{}", levels->count, along(*levels)));
    }
    if (const auto levels = find_levels(g_, t_)) {
      tell_levels(*levels);
      return tell(fmt::format("golden_levels:{}", levels->count),
                  fmt::format("golden is rounded to {} levels{}, the target is not", levels->count,
                              along(*levels)));
    }
    return false;
  }
  static std::string along(const Levels& levels) {
    return levels.axis ? fmt::format(" for each index of axis {}", *levels.axis) : "";
  }
  void tell_levels(const Levels& levels) {
    out_.is_quantization = true;
    out_.levels = levels.count;
    out_.step = levels.step;
    out_.axis = levels.axis;
  }

  bool saturated() {
    if (m_.all.differing == m_.all.count || !(m_.low < m_.high)) return false;
    return all_are([&](double g) { return std::clamp(g, m_.low, m_.high); }) &&
           tell(fmt::format("saturated:{},{}", short_number(m_.low), short_number(m_.high)),
                fmt::format("cut off at {} and {}", short_number(m_.low), short_number(m_.high)));
  }

  const ConstantTensor &t_, &g_;
  const Measured& m_;
  WeightDifference& out_;
  double rounding_ = 0;
};

double relative(double dd, double gg) {
  if (gg > 0) return std::sqrt(dd / gg);
  return dd > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return std::ldexp(1.0, -11);
    case DType::kBFloat16: return std::ldexp(1.0, -8);
    case DType::kFloat64: return std::ldexp(1.0, -53);
    default: return kind_of(dtype) == DKind::kFloat ? std::ldexp(1.0, -24) : 0;
  }
}

std::string short_number(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  return text == "-0" ? "0" : text;
}

std::optional<WeightDifference> compare_weights(const ConstantTensor& target,
                                                const ConstantTensor& golden,
                                                const WeightLimits& limits) {
  if (target.is_same_data(golden)) return std::nullopt;
  WeightDifference difference;
  difference.elements = golden.elements();
  if (target.shape() != golden.shape()) {
    // Ones come and go with the way an exporter writes a bias.
    const auto view = squeezed(target.shape()) == squeezed(golden.shape())
                          ? target.reshaped(golden.shape())
                          : std::nullopt;
    if (view) return compare_weights(*view, golden, limits);
    difference.differing = difference.elements;
    difference.relative_norm = std::numeric_limits<double>::infinity();
    difference.detail = "shape";
    difference.words = fmt::format("the shape is {} instead of {}", to_string(target.shape()),
                                   to_string(golden.shape()));
    Explainer(target, golden, {}, difference).axes_exchanged();
    return difference;
  }
  const Measured measured = measure(target, golden, limits.slack);
  if (measured.all.differing == 0) return std::nullopt;
  difference.relative_norm = relative(measured.all.dd, measured.all.gg);
  difference.max_abs = measured.max_abs;
  difference.differing = measured.all.differing;
  if (measured.nonfinite > 0) {
    difference.detail = fmt::format("nonfinite:{}", measured.nonfinite);
    difference.words =
        fmt::format("{} numbers are NaN or infinite on one side only", measured.nonfinite);
    difference.max_abs = std::numeric_limits<double>::infinity();
    return difference;
  }
  if (difference.relative_norm <= limits.tolerance) return std::nullopt;
  Explainer(target, golden, measured, difference).explain();
  return difference;
}

}  // namespace plumb::graph
