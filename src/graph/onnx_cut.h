// SPDX-License-Identifier: Apache-2.0
//
// Parts of an ONNX model as models of their own. Messages are moved about and none is rewritten; no
// operator has to be known.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/onnx_build.h"

namespace plumb::graph {

// What is known of tensors beyond what the model says. A type given here beats the model's own.
struct Outside {
  std::map<std::string, OnnxType, std::less<>> types;     // of tensors that may become inputs
  std::map<std::string, OnnxTensor, std::less<>> values;  // these become initializers instead
};

// What a part of a model has to do with the rest. The first three are what it reads.
struct Boundary {
  std::vector<std::string> inputs;  // made by other nodes or fed; in the order they are read
  std::vector<size_t> weights;      // places in OnnxGraph::initializers
  std::vector<size_t> constants;    // Constant nodes that are no part of it
  std::vector<std::string> outputs;
};
Boundary boundary_of(const OnnxModel& model, std::span<const size_t> nodes);

// A model of just these nodes, in their order, with the initializers they need. Constant nodes that
// they read come along, unless `outside` has their value. Inputs: what they read from others; one
// whose type nobody knows is an error. Outputs: what is read outside, is an output of the model, or
// is read by nobody. Everything else of the model is kept: operator sets, functions, metadata.
// External data stay where they are (see onnx_external.h).
Result<OnnxModel> cut(const OnnxModel& model, std::span<const size_t> nodes,
                      const Outside& outside = {});

// The model without these nodes: what they produced becomes an input, or an initializer if
// `outside` has its value. The same as cutting out all the others.
Result<OnnxModel> without(const OnnxModel& model, std::span<const size_t> nodes,
                          const Outside& outside = {});

}  // namespace plumb::graph
