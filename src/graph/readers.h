// SPDX-License-Identifier: Apache-2.0
//
// The readers behind the table in importers.cpp, for it and for tests: whether the first bytes of a
// file look like a description, and the graph in a whole file.
#pragma once

#include "base/bytes.h"
#include "graph/graph.h"
#include "plumb/result.h"

namespace plumb::graph {

bool is_om(Bytes head);
Result<Graph> graph_from_om(Bytes file);

bool is_ge_json(Bytes head);
Result<Graph> graph_from_ge_json(Bytes file);

bool is_ge_text(Bytes head);
Result<Graph> graph_from_ge_text(Bytes file);

bool is_onnx(Bytes head);
Result<Graph> graph_from_onnx(Bytes file);
// The same of a model that was read, with the node that each operator is; null for inputs and
// constants of the model, which are none.
struct OnnxModel;
struct OnnxNode;
struct OnnxOperators {
  Graph graph;
  std::vector<const OnnxNode*> nodes;
};
Result<OnnxOperators> operators_of(const OnnxModel& model, Bytes file);

bool is_prototxt(Bytes head);
Result<Graph> graph_from_prototxt(Bytes file);

bool is_dump_index(Bytes head);
Result<Graph> graph_from_dump_index(Bytes file);

}  // namespace plumb::graph
