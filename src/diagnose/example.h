// SPDX-License-Identifier: Apache-2.0
//
// One operator as an example of what it computes: golden shows inputs and the output that belongs
// to them, the target its own. A function that gives golden's output for golden's inputs is what
// the operator computes; what it gives for the target's inputs should have come out there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plumb/tensor.h"

namespace plumb::diagnose {

using Numbers = std::vector<double>;

// A tensor of both sides, element by element in golden's order. Borrowed.
struct Seen {
  const Numbers* golden = nullptr;
  const Numbers* target = nullptr;
  Shape shape;

  const Numbers& of(bool is_golden) const { return is_golden ? *golden : *target; }
  int64_t length(size_t axis) const { return shape[axis]; }
};

struct Example {
  std::vector<Seen> inputs;
  Seen output;
  std::string_view type;    // of the operator, if it is one alone; else empty
  double tolerance = 0;     // relative, that golden's own rounding may leave
  double mean_square = 0;   // of golden's output, if somebody knows
  int64_t* work = nullptr;  // steps that may still be spent on all operators together

  size_t count() const { return output.golden->size(); }
  bool may_spend(int64_t steps) const;
};

// What a function gives for the inputs of each side.
struct Should {
  Numbers golden, target;
};

// nullopt if the function does not give golden's output.
using Function = std::optional<Should> (*)(const Example& example);
struct Attempt {
  Function function;
  int64_t steps;      // for each element, about a nanosecond each; products tell theirs themselves
  bool is_last_hope;  // no use to try where another one fits
};
// What is tried, the simplest first.
std::span<const Attempt> attempts();

// Relative to the size of `unit`.
double distance(const Numbers& a, const Numbers& b, const Numbers& unit);
// Of golden's output; false also if the sizes differ.
bool gives_golden(const Numbers& computed, const Example& example);

// A few elements may be worse than all, by this factor of the squares.
inline constexpr double kPatience = 16;

// `compute(is_golden, i)` for every element i. A few elements tell most functions that do not fit.
template <class Compute>
std::optional<Should> by_element(const Example& example, const Compute& compute) {
  const Numbers& wanted = *example.output.golden;
  const size_t count = wanted.size(), stride = count / 48 + 1;
  double dd = 0, gg = 0, looked = 0;
  for (size_t i = stride / 2; i < count; i += stride) {
    const double d = compute(true, i) - wanted[i];
    dd += d * d;
    gg += wanted[i] * wanted[i];
    ++looked;
  }
  gg = std::max(gg, looked * example.mean_square);  // the few may be the small ones
  if (!(dd <= kPatience * example.tolerance * example.tolerance * gg)) return {};
  Should should;
  should.golden.resize(count);
  for (size_t i = 0; i < count; ++i) should.golden[i] = compute(true, i);
  if (!gives_golden(should.golden, example)) return {};
  should.target.resize(count);
  for (size_t i = 0; i < count; ++i) should.target[i] = compute(false, i);
  return should;
}

// Elements that share a place along an axis: of every `count` stretches of `inner` elements each
// belongs to a group of its own.
struct Groups {
  size_t count = 1, inner = 1;

  size_t of(size_t i) const { return i / inner % count; }
  size_t place(size_t group, size_t nth) const {  // of the nth element of a group
    return (nth / inner * count + group) * inner + nth % inner;
  }
  template <class Use>
  void each(size_t elements, const Use& use) const {  // use(i, group)
    for (size_t i = 0; i < elements;)
      for (size_t group = 0; group < count; ++group)
        for (size_t k = 0; k < inner; ++k, ++i) use(i, group);
  }
};

struct Line {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  double factor = 0, offset = 0;

  void add(double at, double value) { n += 1, x += at, y += value; }
  void add_again(double at, double value) {  // once all were added
    const double far = at - x / n;
    xx += far * far, xy += far * (value - y / n);
  }
  void finish() {
    if (n == 0) return;
    factor = xx > 0 ? xy / xx : 0;
    offset = (y - factor * x) / n;
  }
};

// Straight lines through golden's values; with `only_positive` through those above zero.
template <class X>
std::vector<Line> fitted_lines(const Example& example, const Groups& groups, const X& x,
                               bool only_positive) {
  const Numbers& wanted = *example.output.golden;
  std::vector<Line> lines(groups.count);
  groups.each(wanted.size(), [&](size_t i, size_t group) {
    if (!only_positive || wanted[i] > 0) lines[group].add(x(true, i), wanted[i]);
  });
  groups.each(wanted.size(), [&](size_t i, size_t group) {
    if (!only_positive || wanted[i] > 0) lines[group].add_again(x(true, i), wanted[i]);
  });
  for (Line& line : lines) line.finish();
  return lines;
}

// Whether a few elements of one group lie on a line: if not, all together do not either.
template <class X>
bool may_be_lines(const Example& example, const Groups& groups, const X& x, bool only_positive) {
  const Numbers& wanted = *example.output.golden;
  const size_t size = wanted.size() / groups.count, stride = size / 48 + 1;
  std::vector<std::pair<double, double>> points;
  Line line;
  for (size_t nth = stride / 2; nth < size; nth += stride) {
    const size_t i = groups.place(groups.count / 2, nth);
    if (only_positive && wanted[i] <= 0) continue;
    points.emplace_back(x(true, i), wanted[i]);
    line.add(points.back().first, wanted[i]);
  }
  for (const auto& [at, value] : points) line.add_again(at, value);
  line.finish();
  double dd = 0, gg = 0;
  for (const auto& [at, value] : points) {
    const double d = line.factor * at + line.offset - value;
    dd += d * d;
    gg += value * value;
  }
  gg = std::max(gg, line.n * example.mean_square);
  return dd <= kPatience * example.tolerance * example.tolerance * gg;
}

// The slope that negative values have behind an activation, by golden: 1 without one, 0 for a Relu.
template <class Inner>
double negative_slope(const Example& example, const Inner& inner) {
  double xx = 0, xy = 0;
  for (size_t i = 0; i < example.count(); ++i)
    if (const double z = inner(true, i); z < 0) {
      xx += z * z;
      xy += z * (*example.output.golden)[i];
    }
  return xx > 0 ? xy / xx : 1;
}

inline bool is_mostly_positive(const Example& example) {
  int64_t positive = 0;
  for (const double y : *example.output.golden) positive += y > 0;
  return positive > 0 && positive < static_cast<int64_t>(example.count());
}

// A factor and an offset for each group of elements, found on golden, for what `x(is_golden, i)`
// gives; behind it perhaps a Relu or another slope for negative values, as fused operators have.
template <class X>
std::optional<Should> by_lines(const Example& example, const Groups& groups, const X& x) {
  constexpr size_t kFewest = 4;  // elements of a group, of which two say nothing
  if (example.count() < kFewest * groups.count) return {};
  for (const bool only_positive : {false, true}) {
    if (!may_be_lines(example, groups, x, only_positive)) continue;
    if (only_positive && !is_mostly_positive(example)) return {};
    const std::vector<Line> lines = fitted_lines(example, groups, x, only_positive);
    const auto inner = [&](bool is_golden, size_t i) {
      const Line& line = lines[groups.of(i)];
      return line.factor * x(is_golden, i) + line.offset;
    };
    const double slope = only_positive ? negative_slope(example, inner) : 1;
    const auto found = by_element(example, [&](bool is_golden, size_t i) {
      const double z = inner(is_golden, i);
      return z < 0 ? slope * z : z;
    });
    if (found) return found;
  }
  return {};
}

}  // namespace plumb::diagnose
