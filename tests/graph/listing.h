// SPDX-License-Identifier: Apache-2.0
//
// A graph as text, one line for an operator and one for each of its outputs, to be held against
// what tests/data/graph/make_expected.py reads from the same file with other libraries.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "graph/graph.h"

namespace plumb::graph {

inline std::string list_edges(const std::vector<Edge>& edges) {
  std::string text;
  for (const Edge& edge : edges) text += fmt::format(" {}:{}", edge.producer, edge.output);
  return text;
}

inline std::string list_shape(const std::optional<Shape>& shape) {
  return shape ? to_string(*shape) : "-";
}

inline std::string list_graph(const Graph& graph) {
  std::string text = fmt::format("graph {}\noutputs{}\n", graph.name, list_edges(graph.outputs));
  for (const Operator& op : graph.operators) {
    text += fmt::format("operator {} {} id {} in '{}' from{}\n", op.name, op.type,
                        op.id ? std::to_string(*op.id) : "-", op.subgraph, list_edges(op.inputs));
    if (op.origins) text += fmt::format("  origins [{}]\n", fmt::join(*op.origins, ", "));
    for (const Output& output : op.outputs)
      text += fmt::format("  output '{}' {} '{}' {} of '{}' {} '{}' {}\n", output.name,
                          output.dtype ? name_of(*output.dtype) : "-", output.layout,
                          list_shape(output.shape), output.origin,
                          output.origin_output ? std::to_string(*output.origin_output) : "-",
                          output.origin_layout, list_shape(output.origin_shape));
  }
  return text;
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plumb::graph
