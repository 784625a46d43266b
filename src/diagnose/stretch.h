// SPDX-License-Identifier: Apache-2.0
//
// Where operators before a suspect were not compared, its step may be theirs: which they are, where
// they begin, and what has to be dumped to tell.
#pragma once

#include "diagnose/rule.h"

namespace plumb::diagnose {

struct Stretch {
  std::vector<int64_t>
      nodes;                 // one of them it is, in order of execution; without edges only itself
  std::vector<size_t> rows;  // without edges: of operators before it, in order of execution
};

// Of a root with `after_unseen`: itself and what was not compared before it.
Stretch stretch_to(const Net& net, const Root& root);

// For each root its stretch, empty where it can be blamed itself. Roots behind the same operators
// that were not compared become one: what they have in common explains them all.
std::vector<Stretch> stretches_of(const Net& net, Roots& roots);

// Takes back what a rule said of the operator alone.
void blame_stretch(const Suspect& suspect, const Stretch& stretch, result::Finding& finding);

}  // namespace plumb::diagnose
