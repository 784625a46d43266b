// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an ONNX model that is taken apart, edited and written. What was written must be read
// again. Good seeds: tests/data/onnx_edit.
#include "graph/onnx_bodies.h"
#include "graph/onnx_build.h"
#include "graph/onnx_cut.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_external.h"
#include "graph/onnx_wiring.h"

using namespace plumb;
using namespace plumb::graph;

static void check(const OnnxModel& model) {
  const std::string written = write_onnx(model);
  const auto again = read_onnx(as_bytes(written));
  if (!again) return;  // more nodes than its size allows for: bodies became nodes
  if (again->graph.nodes.size() != model.graph.nodes.size()) __builtin_trap();
  if (again->graph.initializers.size() != model.graph.initializers.size()) __builtin_trap();
  if (write_onnx(*again) != written) __builtin_trap();
}

// A copy on every edge from the first tensor of a node, and nodes taken out again.
static void rewire_node(OnnxModel model, size_t node) {
  for (Bytes attribute : attributes_of(model.graph.nodes[node]))
    (void)attribute_of(model.graph.nodes[node], as_text(attribute.subspan(0, 1)));
  UniqueNames names = names_in(model.graph);
  const std::string copy = names.claim("copy");
  if (model.graph.nodes[node].outputs.empty() || model.graph.nodes[node].outputs[0].empty()) return;
  const std::string tensor(model.graph.nodes[node].outputs[0]);
  const auto readers = readers_of(model, tensor);
  std::vector<OnnxNode> nodes{make_identity(model, copy, tensor, copy)};
  if (const auto place = insert_nodes(model, std::move(nodes), tensor, readers, copy)) {
    check(model);
    if (remove_node(model, *place)) check(model);
  }
  if (remove_node(model, node)) check(model);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = read_onnx({reinterpret_cast<const std::byte*>(data), size});
  if (!model) {
    if (model.error().what.empty() || model.error().where.empty()) __builtin_trap();
    return 0;
  }
  check(*model);
  std::vector<std::string> tensors;
  std::vector<size_t> even;
  for (size_t i = 0; i < model->graph.nodes.size() && i < 100; ++i) {
    if (i % 2 == 0) even.push_back(i);
    for (std::string_view output : model->graph.nodes[i].outputs) tensors.emplace_back(output);
    for (std::string_view capture : model->graph.nodes[i].captures) tensors.emplace_back(capture);
    for (bool branch : {false, true})
      if (OnnxModel copy = *model; inline_if(copy, i, branch)) check(copy);
    if (OnnxModel copy = *model; expose_loop(copy, i, tensors)) check(copy);
    nodes_between(*model, 0, i);
    rewire_node(*model, i);
  }
  OnnxModel copy = *model;
  expose(copy, tensors);
  drop_weight_inputs(copy);
  check(copy);
  if (const auto part = cut(*model, even)) check(*part);
  if (const auto part = without(*model, even)) check(*part);
  if (const auto part = cut(*model, with_constant_sources(*model, even))) check(*part);
  (void)inline_external(copy, {"/nonexistent", {}});
  return 0;
}
