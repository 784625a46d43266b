// SPDX-License-Identifier: Apache-2.0
//
// Edits at the surface of an ONNX model: tensors made visible, nodes put on edges, replaced and
// taken out. Messages that an edit does not concern stay the bytes they are. Nodes are given by
// their place in OnnxGraph::nodes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx_model.h"
#include "graph/onnx_rename.h"

namespace plumb::graph {

// Graph outputs for tensors that are none yet. They have a name and no type: engines infer it.
// Tensors that nothing at the surface of the model produces (see onnx_bodies.h) and names of inputs
// and initializers are left out. Returns the names that are outputs afterwards.
std::vector<std::string> expose(OnnxModel& model, std::span<const std::string> tensors);

// Initializers are graph inputs no longer: nobody may replace them, so engines may fold them. Files
// before IR version 4 had to list them; their version becomes 4.
void drop_weight_inputs(OnnxModel& model);

// Where a tensor is read: an input of a node, or (nullopt) its bodies.
struct OnnxReader {
  size_t node = 0;
  std::optional<size_t> input;
};
std::vector<OnnxReader> readers_of(const OnnxModel& model, std::string_view tensor);

// These readers of `from` read `to` instead, which no body may define itself: see names_in.
Result<void> rewire(OnnxModel& model, std::span<const OnnxReader> readers, std::string_view from,
                    std::string_view to);

// Puts new nodes on the way from a tensor to some of its readers, or to all (see readers_of): the
// nodes read it, and what they give as `result` is what the readers read from now on. An output of
// the model stays what it is; to change it, replace the node that gives it. Returns the place of
// the first new node: behind everything that they read, before everything that reads them.
Result<size_t> insert_nodes(OnnxModel& model, std::vector<OnnxNode> nodes, std::string_view tensor,
                            std::span<const OnnxReader> readers, std::string_view result);

// Other nodes where one was. What is known of tensors that are gone goes, too.
void replace_node(OnnxModel& model, size_t node, std::vector<OnnxNode> nodes);

// Takes a node out: what read its only output reads its first input from now on. If the output is
// one of the model, an Identity stays.
Result<void> remove_node(OnnxModel& model, size_t node);

// The node with other names for its tensors; it is no part of the model yet.
Result<OnnxNode> with_names(OnnxModel& model, const OnnxNode& node, const Renames& renames);

// Another NodeProto for a node, which keeps its name.
Result<void> rewrite_node(OnnxModel& model, size_t node, std::string bytes);

}  // namespace plumb::graph
