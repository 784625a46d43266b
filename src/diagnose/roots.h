// SPDX-License-Identifier: Apache-2.0
//
// Which operators introduced the error, and which only inherited it: each operator's step from its
// inputs' error to its outputs' is held against what is normal in this network. Where every
// operator adds a little, nobody is to blame.
#pragma once

#include <string_view>
#include <vector>

#include "diagnose/net.h"

namespace plumb::diagnose {

struct Root {
  int64_t node = 0;
  double in = 0;           // relative error of its inputs; 0 if they are exact or not known
  double out = 0;          // of its outputs; infinite if they are not finite as golden's are
  double noise = 0;        // relative error that is normal for such an operator
  double ratio = 0;        // of out to what inputs and the normal noise explain
  bool is_behind = false;  // another root may have caused it: it may only make that error larger
  std::vector<int64_t> consequences;  // nodes that inherit from it, in order of execution
  bool is_hidden = false;             // its own output hides the error behind one large channel
  bool after_unseen = false;          // the step may be that of operators that were not compared
};

struct Roots {
  double noise = 0;         // relative error that is normal for one operator of this network
  std::vector<Root> roots;  // most probable first
  // No operator is to blame: the error grows step by step.
  bool is_accumulated = false;
  double first = 0, last = 0;         // errors at the beginning and at the end of that growth
  std::vector<int64_t> contributors;  // the operators that add most, worst first
};

// O(nodes + edges) for each root.
Roots find_roots(const Net& net);

// A step that is this many times what is normal is an operator's own.
inline constexpr double kStep = 3;
// Where operators were replayed: so many times the usual own error of one.
inline constexpr double kOwnStep = 4;
// ... and, in a network of 8 or 16 bits, of what the worst tenth of them has: rounding hits some
// operators (depthwise ones, sums) many times harder than others, and all of that is normal.
inline constexpr double kTailStep = 2.5;
// Where nothing is out of limits own errors count alone; of a product that could not be measured,
// whose gain is mild, a step of so many times what is normal.
inline constexpr double kQuietStep = 8;
// ... and errors that no order of sums in float32 explains.
inline constexpr double kQuietLeast = 3e-5;
inline constexpr size_t kMostRoots = 8;

}  // namespace plumb::diagnose
