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
  constexpr double kPatience = 16;                  // these few may be worse than all
  if (!(dd <= kPatience * example.tolerance * example.tolerance * gg)) return {};
  Should should;
  should.golden.resize(count);
  for (size_t i = 0; i < count; ++i) should.golden[i] = compute(true, i);
  if (!gives_golden(should.golden, example)) return {};
  should.target.resize(count);
  for (size_t i = 0; i < count; ++i) should.target[i] = compute(false, i);
  return should;
}

struct Line {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  double factor = 0, offset = 0;
};

// Straight lines through golden's values; with `only_positive` through those above zero.
template <class Group, class X>
std::vector<Line> fitted_lines(const Example& example, size_t groups, const Group& group_of,
                               const X& x, bool only_positive) {
  const Numbers& wanted = *example.output.golden;
  std::vector<Line> lines(groups);
  const auto is_used = [&](size_t i) { return !only_positive || wanted[i] > 0; };
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!is_used(i)) continue;
    Line& line = lines[group_of(i)];
    line.n += 1, line.x += x(true, i), line.y += wanted[i];
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!is_used(i)) continue;
    Line& line = lines[group_of(i)];
    const double far = x(true, i) - line.x / line.n;
    line.xx += far * far, line.xy += far * (wanted[i] - line.y / line.n);
  }
  for (Line& line : lines) {
    if (line.n == 0) continue;
    line.factor = line.xx > 0 ? line.xy / line.xx : 0;
    line.offset = (line.y - line.factor * line.x) / line.n;
  }
  return lines;
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

// A factor and an offset for each group of elements (`group_of(i)` below `groups`), found on
// golden, for what `x(is_golden, i)` gives; behind it perhaps a Relu or another slope for negative
// values, as fused operators have.
template <class Group, class X>
std::optional<Should> by_lines(const Example& example, size_t groups, const Group& group_of,
                               const X& x) {
  constexpr size_t kFewest = 4;  // elements of a group, of which two say nothing
  if (example.count() < kFewest * groups) return {};
  for (const bool only_positive : {false, true}) {
    if (only_positive && !is_mostly_positive(example)) return {};
    const std::vector<Line> lines = fitted_lines(example, groups, group_of, x, only_positive);
    const auto inner = [&](bool is_golden, size_t i) {
      const Line& line = lines[group_of(i)];
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
