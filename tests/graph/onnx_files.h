// SPDX-License-Identifier: Apache-2.0
//
// ONNX models for tests: those of tests/data, and small ones made of wire-level messages. What an
// edited model is in memory must be what is written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/proto_wire.h"
#include "graph/listing.h"
#include "graph/onnx_model.h"
#include "graph/onnx_wiring.h"
#include "graph/readers.h"

namespace plumb::graph {

inline const std::filesystem::path kModels = std::filesystem::path(PLUMB_TEST_DATA) / "onnx_edit";
inline const std::filesystem::path kGraphs = std::filesystem::path(PLUMB_TEST_DATA) / "graph";

// A model and the file it borrows from.
struct Loaded {
  std::shared_ptr<const std::string> file;
  OnnxModel model;
};

inline Loaded load(const std::filesystem::path& path) {
  auto file = std::make_shared<const std::string>(text_of(kModels / path));
  auto model = read_onnx(as_bytes(*file));
  EXPECT_TRUE(model.ok()) << path << ": " << model.error().where;
  return {file, model ? *model : OnnxModel{}};
}

inline std::string model_of(const ProtoWriter& graph) {
  ProtoWriter writer;
  writer.varint(1, 8);
  writer.message(7, graph);
  return writer.bytes();
}

inline ProtoWriter node_of(std::string_view name, std::string_view type,
                           const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs) {
  ProtoWriter writer;
  for (const std::string& input : inputs) writer.message(1, as_bytes(input));
  for (const std::string& output : outputs) writer.message(2, as_bytes(output));
  writer.text(3, name);
  writer.text(4, type);
  return writer;
}

// `leaf` in so many bodies, one within the other.
inline std::string nested_model(const ProtoWriter& leaf, int depth) {
  ProtoWriter graph;
  graph.message(1, leaf);
  for (int i = 0; i < depth; ++i) {
    ProtoWriter attribute, with_body = node_of("n", "If", {}, {"z"}), outer;
    attribute.text(1, "b");
    attribute.message(6, graph);
    with_body.message(5, attribute);
    outer.message(1, with_body);
    graph = outer;
  }
  return model_of(graph);
}

inline std::vector<std::string> names(const auto& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(item.name);
  return names;
}

inline size_t index(const OnnxModel& model, std::string_view name) {
  const auto found = find_node(model, name);
  EXPECT_TRUE(found.ok()) << name;
  return found ? *found : 0;
}

// "name type(inputs|captures)outputs" of every node.
inline std::string listed(const OnnxModel& model) {
  std::string text;
  for (const OnnxNode& node : model.graph.nodes)
    text += fmt::format("{} {}({}{}{})={}\n", node.name, node.type, fmt::join(node.inputs, ","),
                        node.captures.empty() ? "" : "|", fmt::join(node.captures, ","),
                        fmt::join(node.outputs, ","));
  return text;
}

// What is in memory is what is written: names of nodes, values and weights, and how they are wired.
// Every tensor that is read has a producer.
inline void expect_sound(const OnnxModel& model) {
  const std::string written = write_onnx(model);
  const auto read = read_onnx(as_bytes(written));
  ASSERT_TRUE(read.ok()) << read.error().where;
  EXPECT_EQ(listed(*read), listed(model));
  EXPECT_EQ(names(read->graph.inputs), names(model.graph.inputs));
  EXPECT_EQ(names(read->graph.outputs), names(model.graph.outputs));
  EXPECT_EQ(names(read->graph.initializers), names(model.graph.initializers));
  EXPECT_EQ(names(read->graph.value_infos), names(model.graph.value_infos));
  EXPECT_THAT(graph_from_onnx(as_bytes(written))->warnings, testing::IsEmpty());
}

}  // namespace plumb::graph
