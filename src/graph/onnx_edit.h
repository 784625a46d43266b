// SPDX-License-Identifier: Apache-2.0
//
// What is done to ONNX models before engines get them: inner tensors made visible, branches laid
// open, parts cut out. All of it moves messages about and rewrites as few of them as it can; no
// operator has to be known. Nodes are given by their place in OnnxGraph::nodes, since names may be
// missing or repeated; `find_node` knows names.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx_model.h"

namespace plumb::graph {

// The first node of that name.
Result<size_t> find_node(const OnnxModel& model, std::string_view name);

// Graph outputs for tensors that are none yet. They have a name and no type: engines infer it.
// Tensors that nothing at the surface of the model produces (see inline_if, expose_loop) and names
// of inputs and initializers are left out. Returns the names that are outputs afterwards.
std::vector<std::string> expose(OnnxModel& model, std::span<const std::string> tensors);

// Initializers are graph inputs no longer: nobody may replace them, so engines may fold them. Files
// before IR version 4 had to list them; their version becomes 4.
void drop_weight_inputs(OnnxModel& model);

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

// A tensor for a model: elements in plain order, packed as the type says.
struct OnnxTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  Bytes bytes;
};
// An initializer of that name, in the model's memory. The type must be one that ONNX has.
Result<OnnxWeight> make_weight(OnnxModel& model, std::string_view name, const OnnxTensor& tensor);

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
// External data stay where they are (see inline_external).
Result<OnnxModel> cut(const OnnxModel& model, std::span<const size_t> nodes,
                      const Outside& outside = {});

// The model without these nodes: what they produced becomes an input, or an initializer if
// `outside` has its value. The same as cutting out all the others.
Result<OnnxModel> without(const OnnxModel& model, std::span<const size_t> nodes,
                          const Outside& outside = {});

// `nodes` and all nodes whose results they need that depend on initializers and constants alone,
// such as the DequantizeLinear of a weight. Sorted. Cut together, such results are no inputs.
std::vector<size_t> with_constant_sources(const OnnxModel& model, std::span<const size_t> nodes);

// All nodes between: those that `first` reaches and that reach `last`, both included. Sorted; empty
// if `last` does not depend on `first`.
std::vector<size_t> nodes_between(const OnnxModel& model, size_t first, size_t last);

// Data in other files below `directory` move into the model. A path that leads elsewhere, a size
// that does not fit and a model of more than 2 GiB are errors.
Result<void> inline_external(OnnxModel& model, const std::filesystem::path& directory);

}  // namespace plumb::graph
