// SPDX-License-Identifier: Apache-2.0
//
// Bodies of If, Loop and Scan brought to the surface of an ONNX model, where engines give out
// tensors.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/onnx_model.h"

namespace plumb::graph {

// What became of a body's names.
struct Inlined {
  std::map<std::string, std::string, std::less<>> tensors;  // in the body -> in the graph
  std::map<std::string, std::string, std::less<>> nodes;
};
// An If becomes the nodes and initializers of one of its branches, with an Identity for each of its
// outputs: the first is named like the If. Names stay as they are, unless they exist elsewhere in
// the model: then "<if>.then_branch/" (or else_branch) is put before them. Ifs within the branch
// come to the surface and can be inlined in turn.
Result<Inlined> inline_if(OnnxModel& model, size_t node, bool branch);

// A model with Ifs at its surface, and the tensors that decide which branch they take.
struct Branching {
  Bytes file;
  const OnnxModel& model;  // what the file holds
  std::vector<std::string> conditions;
};
using Conditions = std::map<std::string, bool, std::less<>>;  // those that are known
struct Inlining {
  std::string file;  // empty: there was nothing to inline
  int64_t branches = 0;
};
// Every If at the surface becomes the branch that it takes, then those that came there with it, and
// so on, as far as conditions are known; they are asked for in each round.
Result<Inlining> inline_branches(
    Bytes file, const std::function<Result<Conditions>(const Branching& now)>& ask);

// A tensor of a body and the output of the loop that has its values of all iterations, stacked.
struct Exposed {
  std::string tensor;
  std::string output;  // "<loop>.body/<tensor>"
};
// More outputs for a Loop or Scan: one for each of the tensors that a node of its body produces;
// others are left out, those of bodies within the body among them. The graph's outputs stay as they
// are: hand the new names to `expose`. An engine can stack only what has one shape in all
// iterations.
Result<std::vector<Exposed>> expose_loop(OnnxModel& model, size_t node,
                                         std::span<const std::string> tensors);

}  // namespace plumb::graph
