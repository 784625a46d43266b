// SPDX-License-Identifier: Apache-2.0
//
// Functions of single elements: activations, limits, sums and products, a factor and an offset for
// each channel.
#include <algorithm>
#include <cmath>
#include <span>

#include "diagnose/function_families.h"

namespace plumb::diagnose {
namespace {

using Unary = double (*)(double);
constexpr Unary kUnary[] = {
    [](double x) { return std::max(x, 0.0); },
    [](double x) { return 1 / (1 + std::exp(-x)); },
    [](double x) { return std::tanh(x); },
    [](double x) { return x / (1 + std::exp(-x)); },
    [](double x) { return std::clamp(x, 0.0, 6.0); },
    [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); },
    [](double x) {
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    },
    [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); },
    [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); },
    [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); },
    [](double x) { return std::exp(x); },
    [](double x) { return std::sqrt(std::max(x, 0.0)); },
    [](double x) { return x * x; },
    [](double x) { return std::abs(x); },
    [](double x) { return std::erf(x); },
    [](double x) { return std::log(x); },
    [](double x) { return 1 / x; },
    [](double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); },
    [](double x) { return x > 0 ? x : std::expm1(x); },
};
using Binary = double (*)(double, double);
constexpr Binary kBinary[] = {
    [](double x, double y) { return x + y; },          [](double x, double y) { return x * y; },
    [](double x, double y) { return x - y; },          [](double x, double y) { return x / y; },
    [](double x, double y) { return std::max(x, y); }, [](double x, double y) { return y - x; },
    [](double x, double y) { return y / x; },
};

bool is_like_output(const Example& example, size_t input) {
  return example.inputs.size() > input && example.inputs[input].golden->size() == example.count();
}

// Where an input is stretched over the output: for each element of the output its own. Axes are
// aligned at their ends, as is usual, or at their beginnings (a factor for each channel). Empty if
// they do not fit.
std::vector<size_t> stretched(const Shape& from, const Shape& to, bool at_end) {
  if (from.size() > to.size()) return {};
  const size_t shift = at_end ? to.size() - from.size() : 0;
  std::vector<size_t> strides(to.size(), 0);
  size_t stride = 1, count = 1;
  for (size_t axis = from.size(); axis-- > 0;) {
    if (from[axis] != to[axis + shift] && from[axis] != 1) return {};
    if (from[axis] != 1) strides[axis + shift] = stride;
    stride *= static_cast<size_t>(from[axis]);
  }
  for (const int64_t length : to) count *= static_cast<size_t>(length);
  std::vector<size_t> places(count);
  std::vector<int64_t> at(to.size(), 0);
  size_t place = 0;
  for (size_t i = 0; i < count; ++i) {
    places[i] = place;
    for (size_t axis = to.size(); axis-- > 0;) {
      place += strides[axis];
      if (++at[axis] < to[axis]) break;
      place -= strides[axis] * static_cast<size_t>(to[axis]);
      at[axis] = 0;
    }
  }
  return places;
}

// Two inputs, element by element; behind it perhaps a Relu.
std::optional<Should> of_two(const Example& example, const std::vector<size_t>& first,
                             const std::vector<size_t>& second) {
  for (const Binary function : kBinary) {
    const auto inner = [&](bool is_golden, size_t i) {
      const double x = example.inputs[0].of(is_golden)[first.empty() ? i : first[i]];
      const double y = example.inputs[1].of(is_golden)[second.empty() ? i : second[i]];
      return function(x, y);
    };
    if (auto found = by_element(example, inner)) return found;
    if (auto found = by_element(
            example, [&](bool is_golden, size_t i) { return std::max(inner(is_golden, i), 0.0); }))
      return found;
  }
  return {};
}

}  // namespace

std::optional<Should> of_one_element(const Example& example) {
  if (example.inputs.size() != 1 || !is_like_output(example, 0)) return {};
  const Seen& input = example.inputs[0];
  for (const Unary function : kUnary)
    if (auto found = by_element(
            example, [&](bool is_golden, size_t i) { return function(input.of(is_golden)[i]); }))
      return found;
  return {};
}

// Limits are seen on golden: several values stand at one, and the input goes on.
std::optional<Should> limited(const Example& example) {
  if (example.inputs.size() != 1 || !is_like_output(example, 0)) return {};
  const Numbers &x = *example.inputs[0].golden, &y = *example.output.golden;
  const auto [low, high] = std::minmax_element(y.begin(), y.end());
  int64_t below = 0, above = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    below += y[i] == *low && x[i] < *low;
    above += y[i] == *high && x[i] > *high;
  }
  constexpr int64_t kEnough = 2;
  const double least = below >= kEnough ? *low : -INFINITY;
  const double most = above >= kEnough ? *high : INFINITY;
  if (std::isinf(least) && std::isinf(most)) return {};
  return by_element(example, [&](bool is_golden, size_t i) {
    return std::clamp(example.inputs[0].of(is_golden)[i], least, most);
  });
}

std::optional<Should> leaky(const Example& example) {
  if (example.inputs.size() != 1 || !is_like_output(example, 0)) return {};
  const auto inner = [&](bool is_golden, size_t i) { return example.inputs[0].of(is_golden)[i]; };
  const double slope = negative_slope(example, inner);
  return by_element(example, [&](bool is_golden, size_t i) {
    const double x = inner(is_golden, i);
    return x < 0 ? slope * x : x;
  });
}

// A factor and an offset: one for all, or one for each place along an axis.
std::optional<Should> of_line(const Example& example) {
  if (example.inputs.size() != 1 || !is_like_output(example, 0)) return {};
  const auto x = [&](bool is_golden, size_t i) { return example.inputs[0].of(is_golden)[i]; };
  if (auto found = by_lines(example, {1, example.count()}, x)) return found;
  size_t inner = example.count();
  for (const int64_t length : example.output.shape) {
    if (length <= 0) return {};
    const auto channels = static_cast<size_t>(length);
    inner /= channels;
    if (length == 1) continue;
    if (auto found = by_lines(example, {channels, inner}, x)) return found;
  }
  return {};
}
// An operator that by its type only adds or multiplies: the constant of each element shows in
// golden, however few elements share one.
std::optional<Should> with_constant(const Example& example) {
  constexpr std::string_view kFactors[] = {"Mul", "Div", "RealDiv"};
  constexpr std::string_view kOffsets[] = {"Add", "Sub", "BiasAdd"};
  const auto is_one_of = [&](std::span<const std::string_view> types) {
    return std::find(types.begin(), types.end(), example.type) != types.end();
  };
  const bool is_factor = is_one_of(kFactors);
  if (example.inputs.size() != 1 || !is_like_output(example, 0) ||
      (!is_factor && !is_one_of(kOffsets)))
    return {};
  const Seen& input = example.inputs[0];
  const Numbers& wanted = *example.output.golden;
  return by_element(example, [&](bool is_golden, size_t i) {
    const double x = (*input.golden)[i], own = input.of(is_golden)[i];
    if (!is_factor) return own + (wanted[i] - x);
    return x != 0 ? own * (wanted[i] / x) : wanted[i];
  });
}

std::optional<Should> of_two_elements(const Example& example) {
  if (example.inputs.size() != 2) return {};
  std::vector<size_t> places[2];
  for (const bool at_end : {true, false}) {
    bool fits = true;
    for (size_t k = 0; k < 2; ++k) {
      if (is_like_output(example, k)) continue;
      places[k] = stretched(example.inputs[k].shape, example.output.shape, at_end);
      fits &= places[k].size() == example.count();
    }
    if (!fits) continue;
    if (auto found = of_two(example, places[0], places[1])) return found;
    if (places[0].empty() && places[1].empty()) break;  // nothing was stretched
  }
  return {};
}

std::optional<Should> sum_of_all(const Example& example) {
  if (example.inputs.size() < 3) return {};
  for (size_t k = 0; k < example.inputs.size(); ++k)
    if (!is_like_output(example, k)) return {};
  return by_element(example, [&](bool is_golden, size_t i) {
    double sum = 0;
    for (const Seen& input : example.inputs) sum += input.of(is_golden)[i];
    return sum;
  });
}

}  // namespace plumb::diagnose
