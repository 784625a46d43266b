// SPDX-License-Identifier: Apache-2.0
//
// Other names for the tensors of a node. What its bodies read from outside is renamed with it; what
// they define themselves hides names of outside.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/onnx_model.h"

namespace plumb::graph {

using Renames = std::unordered_map<std::string_view, std::string_view>;  // from -> to

// The NodeProto with other names for what it reads and gives.
std::string renamed_node(const OnnxNode& node, const Renames& renames);
// ... for what its bodies read only.
std::string renamed_in_bodies(const OnnxNode& node, const Renames& renames);

}  // namespace plumb::graph
