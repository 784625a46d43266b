// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_rename.h"

#include "graph/onnx_fields.h"
#include "graph/onnx_wire.h"

namespace plumb::graph {
namespace {

std::string renamed_body(const OnnxGraph& body, const Renames& renames) {
  Renames visible = renames;
  for (std::string_view name : defined_names(body)) visible.erase(name);
  if (visible.empty()) return write_onnx_graph(body);
  OnnxModel renamed;  // for its memory
  renamed.graph = body;
  for (OnnxNode& node : renamed.graph.nodes)
    node.bytes = as_bytes(renamed.keep(renamed_node(node, visible)));
  for (OnnxValue& output : renamed.graph.outputs)
    if (const auto found = visible.find(output.name); found != visible.end())
      output.bytes =
          as_bytes(renamed.keep(with_text(output.bytes, value_field::kName, found->second)));
  return write_onnx_graph(renamed.graph);
}

// `body` is the first of those in this attribute, and afterwards the first of the next.
std::string renamed_attribute(Bytes attribute, std::vector<OnnxBody>::const_iterator& body,
                              const Renames& renames) {
  bool has_graph = false;  // it comes behind the others, and may be in several pieces
  ProtoWriter graph;
  std::string out = rewritten(attribute, [&](const ProtoField& field, ProtoWriter& writer) {
    if (field.number == attribute_field::kGraphs)
      writer.message(field.number, as_bytes(renamed_body((body++)->graph, renames)));
    has_graph |= field.number == attribute_field::kGraph;
    return field.number == attribute_field::kGraph || field.number == attribute_field::kGraphs;
  });
  if (has_graph)
    graph.message(attribute_field::kGraph, as_bytes(renamed_body((body++)->graph, renames)));
  return out + graph.bytes();
}

std::string renamed(const OnnxNode& node, const Renames& renames, bool in_bodies_only) {
  auto body = node.bodies.begin();
  return rewritten(node.bytes, [&](const ProtoField& field, ProtoWriter& out) {
    if (field.number == node_field::kAttribute) {
      out.message(field.number, as_bytes(renamed_attribute(field.bytes, body, renames)));
      return true;
    }
    if (in_bodies_only ||
        (field.number != node_field::kInput && field.number != node_field::kOutput))
      return false;
    const auto found = renames.find(as_text(field.bytes));
    if (found == renames.end()) return false;
    out.message(field.number, as_bytes(found->second));
    return true;
  });
}

}  // namespace

std::string renamed_node(const OnnxNode& node, const Renames& renames) {
  return renamed(node, renames, false);
}

std::string renamed_in_bodies(const OnnxNode& node, const Renames& renames) {
  return renamed(node, renames, true);
}

}  // namespace plumb::graph
