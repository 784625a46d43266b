// SPDX-License-Identifier: Apache-2.0
//
// Engines give out tensors of a model's surface only. What lies in bodies of If, Loop and Scan is
// brought there before a dump: the branch that is taken replaces its If, and a loop gives out what
// its body computed in all iterations.
#pragma once

#include "engine/model.h"

namespace plumb::engine {

bool has_bodies(const LoadedModel& model);

struct OpenBodies {
  LoadedModel model;  // edited
  int64_t branches = 0;
  int64_t not_taken = 0;  // operators of branches that do not run for this input
  // The tensor by which an operator's output inside a loop comes out, by "subgraph\ntensor". Its
  // first axis counts iterations.
  std::map<std::string, std::string> in_loops;
  graph::Graph graph;  // before loops were opened
};

// Which branch is taken depends on the input. `with_loops` false: only branches; values of one loop
// can be stacked only if they have one shape in all iterations.
Result<OpenBodies> open_bodies(const LoadedModel& model, const Inputs& inputs, int threads,
                               bool with_loops);

}  // namespace plumb::engine
