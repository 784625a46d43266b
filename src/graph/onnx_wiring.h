// SPDX-License-Identifier: Apache-2.0
//
// Who makes and who reads a tensor at the surface of an ONNX model, and what follows from it: which
// nodes are constant, and which lie between two others. Nodes are given by their place in
// OnnxGraph::nodes, since names may be missing or repeated; `find_node` knows names.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/onnx_model.h"

namespace plumb::graph {

// By name, the first of each.
struct Wiring {
  std::unordered_map<std::string_view, size_t> producer;  // node
  std::unordered_map<std::string_view, size_t> weight;    // place in `initializers`

  explicit Wiring(const OnnxGraph& graph);
  std::optional<size_t> producer_of(std::string_view tensor) const;
};

// The first node of that name.
Result<size_t> find_node(const OnnxModel& model, std::string_view name);

// By node: true if it depends on initializers and Constant nodes alone.
std::vector<bool> constant_nodes(const OnnxModel& model);

// `nodes` and all constant nodes whose results they need, such as the DequantizeLinear of a weight.
// Sorted. Cut together, such results are no inputs.
std::vector<size_t> with_constant_sources(const OnnxModel& model, std::span<const size_t> nodes);

// All nodes between: those that `first` reaches and that reach `last`, both included. Sorted; empty
// if `last` does not depend on `first`.
std::vector<size_t> nodes_between(const OnnxModel& model, size_t first, size_t last);

}  // namespace plumb::graph
