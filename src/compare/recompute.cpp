// SPDX-License-Identifier: Apache-2.0
#include "compare/recompute.h"

#include <algorithm>
#include <cmath>

#include "metrics/resolution.h"

namespace plumb::compare {
namespace {

// Of what rounding makes of a value, and, where kernels compute beside 1, of that.
struct Rounding {
  double relative, absolute;
  // `low` and `high`: what the function gives of the ends of what was rounded to its input.
  bool holds(double value, double low, double high) const {
    return value >= low - relative * std::abs(low) - absolute &&
           value <= high + relative * std::abs(high) + absolute;
  }
};

Rounding rounding_of(DType dtype, bool is_share) {
  const metrics::Resolution own = metrics::resolution_of(dtype);
  const double single = metrics::resolution_of(DType::kFloat32).relative;
  const double least = own.absolute * own.relative;  // the step of numbers that are not normal
  // Kernels approximate exponentials, and compute beside 1.
  return is_share ? Rounding{own.relative + 16 * single, least + 2 * single}
                  : Rounding{own.relative + single, least};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// An engine may hand on what it has, and store it rounded.
double half_step(double value, DType dtype) {
  return std::abs(value) * metrics::resolution_of(dtype).relative / 2;
}

// Of a function that rises.
template <class Function>
bool is_by_element(const ReadValues& side, const Function& function, bool is_share = true) {
  const Rounding rounding = rounding_of(side.dtype, is_share);
  const ReadValues::Input& input = side.inputs.front();
  if (input.values.size() != side.given.size()) return false;
  for (size_t i = 0; i < side.given.size(); ++i) {
    const double x = input.values[i], off = half_step(x, input.dtype);
    if (!rounding.holds(side.given[i], function(x - off), function(x + off))) return false;
  }
  return true;
}

bool is_hard_sigmoid(const ReadValues& side, double slope) {
  return is_by_element(side, [&](double x) { return std::clamp(slope * x + 0.5, 0.0, 1.0); });
}

// Which elements are summed up: one axis, or all from one on.
struct SummedAxis {
  int64_t outer = 1, size = 1, inner = 1;
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * size + k) * inner + i; }
};

std::vector<SummedAxis> summed_axes(const Shape& shape) {
  std::vector<SummedAxis> axes;
  for (size_t from = shape.size(); from-- > 0;)
    for (const size_t to : {from + 1, shape.size()}) {
      SummedAxis axis;
      for (size_t d = 0; d < shape.size(); ++d)
        (d < from ? axis.outer : d < to ? axis.size : axis.inner) *= shape[d];
      if (axis.size > 1) axes.push_back(axis);
    }
  return axes;
}

bool is_softmax(const ReadValues& side, const SummedAxis& axis) {
  const Rounding rounding = rounding_of(side.dtype, true);
  const ReadValues::Input& input = side.inputs.front();
  if (input.values.size() != side.given.size()) return false;
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t i = 0; i < axis.inner; ++i) {
      const auto at = [&](int64_t k) { return static_cast<size_t>(axis.at(o, k, i)); };
      const auto off = [&](int64_t k) { return half_step(input.values[at(k)], input.dtype); };
      double most = input.values[at(0)], sum = 0, sum_off = 0;
      for (int64_t k = 1; k < axis.size; ++k) most = std::max(most, input.values[at(k)]);
      for (int64_t k = 0; k < axis.size; ++k) {
        const double share = std::exp(input.values[at(k)] - most);
        sum += share;
        sum_off += share * off(k);
      }
      for (int64_t k = 0; k < axis.size; ++k) {
        const double share = std::exp(input.values[at(k)] - most) / sum;
        const double factor = std::exp(off(k) + sum_off / sum);
        if (!rounding.holds(side.given[at(k)], share / factor, share * factor)) return false;
      }
    }
  return true;
}

int64_t first_along(const std::vector<double>& values, const SummedAxis& axis, int64_t o,
                    int64_t i) {
  int64_t first = 0;
  for (int64_t k = 1; k < axis.size; ++k)
    if (values[static_cast<size_t>(axis.at(o, k, i))] >
        values[static_cast<size_t>(axis.at(o, first, i))])
      first = k;
  return first;
}

bool has_other_winner(const ReadValues& target, const ReadValues& golden, const SummedAxis& axis) {
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t i = 0; i < axis.inner; ++i)
      if (first_along(target.given, axis, o, i) != first_along(golden.given, axis, o, i))
        return true;
  return false;
}

std::optional<Recomputed> recompute_softmax(const ReadValues& target, const ReadValues& golden) {
  if (target.inputs.front().shape != golden.inputs.front().shape) return std::nullopt;
  for (const SummedAxis& axis : summed_axes(golden.inputs.front().shape))
    if (is_softmax(golden, axis) && is_softmax(target, axis))
      return Recomputed{has_other_winner(target, golden, axis)};
  return std::nullopt;
}

// Of what is above one half on either side: a detector's background is no decision. Some lie where
// rounding decides.
bool crosses_half(const ReadValues& target, const ReadValues& golden) {
  constexpr size_t kRarely = 20;
  size_t above = 0, crossing = 0;
  for (size_t i = 0; i < target.given.size(); ++i) {
    const bool in_target = target.given[i] > 0.5, in_golden = golden.given[i] > 0.5;
    above += in_target || in_golden;
    crossing += in_target != in_golden;
  }
  return crossing * kRarely > above;
}

// With the axes of one factor repeated where they are 1.
bool is_product(const ReadValues& side) {
  const Rounding rounding = rounding_of(side.dtype, false);
  const size_t rank = side.shape.size();
  std::vector<std::vector<int64_t>> strides;
  double off = 0;
  for (const ReadValues::Input& input : side.inputs) {
    const Shape& shape = input.shape;
    off += metrics::resolution_of(input.dtype).relative / 2;
    if (shape.size() != rank) return false;
    std::vector<int64_t>& stride = strides.emplace_back(rank, 0);
    int64_t step = 1;
    for (size_t d = rank; d-- > 0; step *= shape[d]) {
      if (shape[d] != 1 && shape[d] != side.shape[d]) return false;
      if (shape[d] != 1) stride[d] = step;
    }
  }
  for (size_t i = 0; i < side.given.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at[2] = {0, 0};
    for (size_t d = rank; d-- > 0; rest /= side.shape[d])
      for (size_t k = 0; k < 2; ++k) at[k] += rest % side.shape[d] * strides[k][d];
    const double expected = side.inputs[0].values[static_cast<size_t>(at[0])] *
                            side.inputs[1].values[static_cast<size_t>(at[1])];
    const double most = std::abs(expected) * off;
    if (!rounding.holds(side.given[i], expected - most, expected + most)) return false;
  }
  return true;
}

}  // namespace

std::optional<Recomputed> recompute(Made made, const ReadValues& target, const ReadValues& golden) {
  if (target.given.size() != golden.given.size() || target.given.empty()) return std::nullopt;
  const auto both = [&](auto is_it) { return is_it(golden) && is_it(target); };
  switch (made) {
    case Made::kSigmoid:
      if (!both([](const ReadValues& side) { return is_by_element(side, sigmoid); }))
        return std::nullopt;
      return Recomputed{crosses_half(target, golden)};
    case Made::kHardSigmoid:
      // ONNX, Keras and Caffe have a slope of a fifth, PyTorch of a sixth.
      for (const double slope : {0.2, 1.0 / 6})
        if (both([&](const ReadValues& side) { return is_hard_sigmoid(side, slope); }))
          return Recomputed{crosses_half(target, golden)};
      return std::nullopt;
    case Made::kSoftmax: return recompute_softmax(target, golden);
    case Made::kRectified: {
      const auto is_it = [](const ReadValues& side) {
        return is_by_element(
            side, [](double x) { return std::max(x, 0.0); }, false);
      };
      return both(is_it) ? std::optional(Recomputed{}) : std::nullopt;
    }
    case Made::kProduct: return both(is_product) ? std::optional(Recomputed{}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace plumb::compare
