// SPDX-License-Identifier: Apache-2.0
//
// The table of functions that operators may compute, and what they share.
#include <cmath>
#include <limits>

#include "diagnose/function_families.h"

namespace plumb::diagnose {

std::span<const Attempt> attempts() {
  static constexpr Attempt kAttempts[] = {
      {of_one_element, 4, false}, {limited, 4, false},       {leaky, 4, false},
      {of_line, 6, false},        {with_constant, 8, false}, {of_two_elements, 8, false},
      {sum_of_all, 4, false},     {joined, 8, false},        {transposed, 8, false},
      {enlarged, 8, false},       {cut_out, 8, false},       {softmax, 8, false},
      {normalised, 8, false},     {reduced, 8, false},       {pooled, 16, false},
      {product_of_two, 1, true},  {linear, 1, true},
  };
  return kAttempts;
}

bool Example::may_spend(int64_t steps) const {
  if (work == nullptr) return true;
  if (steps > *work) return false;
  *work -= steps;
  return true;
}

double distance(const Numbers& a, const Numbers& b, const Numbers& unit) {
  double dd = 0, uu = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dd += (a[i] - b[i]) * (a[i] - b[i]);
    uu += unit[i] * unit[i];
  }
  return uu > 0 ? std::sqrt(dd / uu) : dd > 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
}

bool gives_golden(const Numbers& computed, const Example& example) {
  const Numbers& wanted = *example.output.golden;
  return computed.size() == wanted.size() &&
         distance(computed, wanted, wanted) <= example.tolerance;
}

}  // namespace plumb::diagnose
