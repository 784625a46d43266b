// SPDX-License-Identifier: Apache-2.0
//
// What was done to golden so that it became the target: a fixed list of explanations, tried on the
// data itself. One is claimed only if it explains the data almost exactly. Words of the details:
// docs/diagnosis.md.
#pragma once

#include <optional>
#include <string>

#include "compare/values.h"

namespace plumb::diagnose {

struct Transform {
  std::string detail;    // "axes:0,2,3,1", "channels_reversed", "scale:1.03", ...
  std::string text;      // in words: "the target is golden with its axes in the order N, H, W, C"
  double error = 0;      // rel_euclid of target against golden as they are; nan if sizes differ
  double remaining = 0;  // ... after golden was changed so
};

// `noise`: the relative error that is normal for such tensors of this network (at least the
// resolution of the types); what remains has to be of that size. nullopt: nothing explains it.
std::optional<Transform> find_transform(const compare::PairValues& values, double noise);

}  // namespace plumb::diagnose
