// SPDX-License-Identifier: Apache-2.0
#include "pair/modules.h"

#include <gtest/gtest.h>

#include "base/dump_schema.h"
#include "dump/memory.h"

namespace plumb::pair {
namespace {

using graph::Edge;
using graph::Graph;

TEST(Modules, PathsOfExportedOperators) {
  const struct {
    const char *name, *path;
  } kCases[] = {
      {"/Relu", ""},
      {"/stem/Conv", "stem"},
      {"/layer1/layer1.0/conv1/Conv", "layer1.0.conv1"},
      {"/features/features.0/features.0.1/Relu_1", "features.0.1"},
      {"/model/layers.3/attn/q/MatMul", "model.layers.3.attn.q"},
      {"/a/a1.0/Add", "a.a1.0"},  // not a member of "a"
      {"/layer1/layer1.0/relu_1/Relu", "layer1.0.relu_1"},
  };
  for (const auto& each : kCases) EXPECT_EQ(module_path(each.name), each.path) << each.name;
  EXPECT_EQ(module_path("Conv_0"), std::nullopt);
  EXPECT_EQ(module_path(""), std::nullopt);
}

void add(Graph& graph, const std::string& name, const std::string& type,
         const std::vector<std::string>& inputs) {
  graph::Operator& op = graph.operators.emplace_back();
  op.name = name;
  op.type = type;
  for (const std::string& input : inputs) op.inputs.push_back({input, 0});
  op.outputs.emplace_back();
}

// conv and bn, which the export folded; a function; a module of two operators.
struct Models {
  Graph modules, model;
  dump::DumpSet recorded, exported;

  Models() {
    modules.properties.emplace_back(dump_schema::kRecorded, dump_schema::kOfModules);
    add(modules, "b.conv", "Conv2d", {""});
    add(modules, "b.bn", "BatchNorm2d", {"b.conv"});
    add(modules, "fc", "Linear", {""});
    add(model, "x", "Data", {});
    add(model, "/b/conv/Conv", "Conv", {"x"});
    add(model, "/b/Sigmoid", "Sigmoid", {"/b/conv/Conv"});
    add(model, "/b/Mul", "Mul", {"/b/Sigmoid", "/b/conv/Conv"});
    add(model, "/fc/MatMul", "MatMul", {"/b/Mul"});
    add(model, "/fc/Add", "Add", {"/fc/MatMul"});
    model.outputs = {{"/fc/Add", 0}};
    recorded = tensors_of(modules, true);
    exported = tensors_of(model, false);
  }

  static dump::DumpSet tensors_of(const Graph& graph, bool with_inputs) {
    static constexpr float kValue = 1;
    std::vector<dump::MemoryTensor> tensors;
    const auto bytes = std::as_bytes(std::span(&kValue, 1));
    for (const graph::Operator& op : graph.operators) {
      dump::MemoryTensor tensor;
      tensor.op = op.name;
      tensor.shape = {1};
      tensor.bytes = bytes;
      tensors.push_back(tensor);
      if (!with_inputs || !op.inputs[0].producer.empty()) continue;
      tensor.slot.kind = dump::SlotKind::kInput;
      tensors.push_back(tensor);
    }
    return dump::dump_of_tensors(std::move(tensors)).value();
  }
};

// "partner slot", or the reason why there is none.
std::string found(const Pairings& pairings, const dump::DumpSet& set, std::string_view op,
                  dump::SlotKind kind = dump::SlotKind::kOutput) {
  for (const dump::Entry& entry : set.entries)
    if (entry.operator_name == op && entry.slot.kind == kind) {
      const auto pairing = pairings.find(&entry);
      if (pairing == pairings.end()) return "nothing told";
      if (!pairing->second.has_partner()) return std::string(pairing->second.reason);
      return std::string(pairing->second.op) + " " + to_string(pairing->second.slot);
    }
  return "no such tensor";
}

TEST(Modules, PairWithTheirExport) {
  const Models of;
  ASSERT_TRUE(is_modules_against_model(&of.modules, &of.model));
  ASSERT_TRUE(is_modules_against_model(&of.model, &of.modules));
  const Pairings forth = pair_modules(of.recorded, of.exported, of.modules, of.model);
  EXPECT_EQ(found(forth, of.recorded, "b.bn"), "/b/conv/Conv output:0");
  EXPECT_EQ(found(forth, of.recorded, "b.conv"), "inside_fusion");
  EXPECT_EQ(found(forth, of.recorded, "b.conv", dump::SlotKind::kInput), "x output:0");
  EXPECT_EQ(found(forth, of.recorded, "fc"), "/fc/Add output:0");
  EXPECT_EQ(found(forth, of.recorded, "fc", dump::SlotKind::kInput), "/b/Mul output:0");
  EXPECT_EQ(found(forth, of.exported, "/fc/MatMul"), "inside_fusion");
  EXPECT_EQ(found(forth, of.exported, "/b/Sigmoid"), "no_counterpart");

  const Pairings back = pair_modules(of.exported, of.recorded, of.model, of.modules);
  EXPECT_EQ(found(back, of.exported, "/b/conv/Conv"), "b.bn output:0");
  EXPECT_EQ(found(back, of.exported, "/b/Mul"), "fc input:0");
  EXPECT_EQ(found(back, of.recorded, "b.conv"), "inside_fusion");
}

TEST(Modules, WhatCannotBeToldIsNotPaired) {
  Models of;
  add(of.model, "/other/Relu", "Relu", {"/fc/MatMul"});  // two tensors leave fc now
  const Pairings pairings = pair_modules(of.recorded, of.exported, of.modules, of.model);
  EXPECT_EQ(found(pairings, of.recorded, "fc"), "no_golden");
  EXPECT_EQ(found(pairings, of.exported, "/fc/Add"), "no_target");  // an output of the model
}

TEST(Modules, OnlyRecordsAgainstScopes) {
  Models of;
  EXPECT_FALSE(is_modules_against_model(&of.modules, &of.modules));
  EXPECT_FALSE(is_modules_against_model(&of.model, &of.model));
  EXPECT_FALSE(is_modules_against_model(&of.modules, nullptr));
  for (graph::Operator& op : of.model.operators) op.name = "node" + op.name.substr(1);
  EXPECT_FALSE(is_modules_against_model(&of.modules, &of.model));
}

}  // namespace
}  // namespace plumb::pair
