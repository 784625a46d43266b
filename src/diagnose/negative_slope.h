// SPDX-License-Identifier: Apache-2.0
//
// What an activation makes of negative values: a Relu that became a LeakyRelu, another alpha, an
// activation that is not there. Read off the tensors; needs no model.
#pragma once

#include <optional>
#include <string>

#include "compare/values.h"

namespace plumb::diagnose {

struct NegativeSlope {
  std::string detail;    // "missing:Relu", "attribute:alpha"
  std::string text;      // what the data show
  double remaining = 0;  // relative error that is left with golden's slope
};

// `output` of both sides; `input` is what the operator reads, null if nobody knows. `type` is the
// operator's own, empty where it was made from several. `noise` is the relative error that is
// normal.
std::optional<NegativeSlope> other_negative_slope(const compare::PairValues& output,
                                                  const compare::PairValues* input,
                                                  std::string_view type, double noise);

}  // namespace plumb::diagnose
