// SPDX-License-Identifier: Apache-2.0
//
// A metric is a pure function of what the passes over a pair gathered. Its value is a number, or
// undefined with a reason; never a string, never a silently added epsilon. Formulas, units and edge
// cases of each: docs/metrics.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)  // the library exports this
namespace plumb::metrics {

struct Accumulator;  // see metrics/accumulator.h
struct PairFacts;

class Value {
 public:
  static Value of(double number) { return Value(number, nullptr); }
  // `reason` is a literal: a result holds hundreds of thousands of values.
  static Value undefined(const char* reason) { return Value(0, reason); }
  // Bounded by cheaper means; the number itself was not worth another pass over the data.
  static Value at_most(double bound) { return Value(bound, kBound); }

  bool is_defined() const { return reason_ == nullptr; }
  bool is_bound() const { return reason_ == kBound; }
  double number() const { return number_; }  // or the bound
  const char* reason() const { return reason_; }

 private:
  // An array, so that it has one address in the whole program.
  static constexpr char kBound[] = "not needed: the limit holds by the sums of the first pass";
  Value(double number, const char* reason) : number_(number), reason_(reason) {}
  double number_;
  const char* reason_;
};

// Which direction is good, so that a table can be sorted worst first.
enum class Better : uint8_t { kHigher, kLower, kNearOne, kNeither };

// How a value is printed.
enum class Print : uint8_t { kNumber, kCount, kHex };

struct Metric {
  std::string_view name;     // as in options, JSON and CSV
  std::string_view summary;  // one line for `plumb metrics`
  Better better = Better::kNeither;
  Print print = Print::kNumber;
  Value (*finish)(const PairFacts& facts) = nullptr;
  const Accumulator* needs = nullptr;  // beyond the sums of the first pass
  bool relative = false;               // reads PairSums::has_relative's: a division for each pair
  bool shares = false;                 // reads PairSums::has_shares's: comparisons for each pair
  bool slices = false;                 // reads PairFacts::slices

  bool is_free() const;  // costs nothing beside the plain sums
};

std::span<const Metric> metrics();  // in the order of columns
const Metric* metric_by_name(std::string_view name);

}  // namespace plumb::metrics
#pragma GCC visibility pop
