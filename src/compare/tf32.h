// SPDX-License-Identifier: Apache-2.0
//
// Whether the errors of a whole run look like those of TF32, in which
// processors multiply float32 operands that they round to ten bits. Nothing in
// one tensor tells; but then all of them are off by about as much, and none by
// much more. Only a word to the user: it changes no verdict.
#pragma once

#include <string>
#include <vector>

#include "plumb/row.h"

namespace plumb::compare {

class LikeTf32 {
 public:
  explicit LikeTf32(const std::vector<const metrics::Metric*>& columns);

  // Every row, in the order of the plan.
  void see(const result::Row& row);
  // Empty if it does not look so.
  std::string note() const;

 private:
  struct Error {
    double rel_euclid, norm;  // norm: distance of the norm ratio from 1
  };
  size_t rel_euclid_, norm_ratio_;  // their columns
  std::vector<Error> errors_;       // of float32 tensors that differ
  size_t equal_ = 0;                // tensors that do not
};

}  // namespace plumb::compare
