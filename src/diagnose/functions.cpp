// SPDX-License-Identifier: Apache-2.0
//
// The table of functions that operators may compute, and what they share.
#include <cmath>
#include <limits>

#include "diagnose/function_families.h"

namespace plumb::diagnose {

std::span<const Function> functions() {
  static constexpr Function kFunctions[] = {
      of_one_element, limited,    leaky,          of_line, of_two_elements, sum_of_all,
      joined,         transposed, enlarged,       cut_out, softmax,         normalised,
      reduced,        pooled,     product_of_two, linear,
  };
  return kFunctions;
}

bool is_costly(Function function) { return function == product_of_two || function == linear; }

bool Example::may_spend(int64_t multiplications) const {
  if (work == nullptr) return true;
  if (multiplications > *work) return false;
  *work -= multiplications;
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
