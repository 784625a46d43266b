// SPDX-License-Identifier: Apache-2.0
//
// Versions that models and dumps record themselves stand in the run where they differ.
#include "compare/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "plumb/session.h"

namespace plumb::compare {
namespace {

using Properties = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<graph::Graph> graph_with(Properties properties) {
  auto graph = std::make_shared<graph::Graph>();
  graph::Operator& op = graph->operators.emplace_back();
  op.name = "conv";
  op.type = "Conv2D";
  op.outputs.resize(1);
  graph->properties = std::move(properties);
  return graph;
}

std::vector<std::string> changes(Properties target, Properties golden) {
  static const std::vector<float> kValues(16, 1.5F);
  NamedTensor tensor;
  tensor.op = "conv";
  tensor.shape = {16};
  tensor.bytes = std::as_bytes(std::span(kValues));
  Spec spec;
  spec.target.tensors = spec.golden.tensors = {tensor};
  spec.target.model = graph_with(std::move(target));
  spec.golden.model = graph_with(std::move(golden));
  spec.mode = "dump-vs-dump";
  RunContext context;
  auto session = Session::open(spec, context);
  if (!session) return {session.error().what};
  auto run = compare_all(*session, context);
  if (!run) return {run.error().what};
  std::vector<std::string> told;
  for (const result::EnvironmentChange& change : run->circumstances.changes)
    told.push_back(change.what + " " + change.target + " " + change.golden);
  return told;
}

struct VersionCase {
  const char* name;
  Properties target, golden;
  std::vector<std::string> told;
};
const VersionCase kCases[] = {
    {"nothing is recorded", {}, {}, {}},
    {"only one side records it", {{"atc_version", "7.6"}}, {}, {}},
    {"the same", {{"atc_version", "7.6"}}, {{"atc_version", "7.6"}}, {}},
    {"another converter, another chip",
     {{"soc_version", "Ascend310P3"}, {"atc_version", "7.6"}},
     {{"atc_version", "1.82"}, {"soc_version", "Ascend310"}},
     {"model.atc_version 7.6 1.82", "model.soc_version Ascend310P3 Ascend310"}},
    {"what describes the model is no environment",
     {{"opset", "13"}, {"producer", "pytorch"}},
     {{"opset", "11"}, {"producer", "caffe"}},
     {}},
    {"an engine's next version",
     {{"engine", "ONNX Runtime 1.21.0"}},
     {{"engine", "ONNX Runtime 1.16.3"}},
     {"dump.engine ONNX Runtime 1.21.0 ONNX Runtime 1.16.3"}},
    {"two engines are no two versions of one",
     {{"engine", "OpenCV DNN 4.6.0"}},
     {{"engine", "ONNX Runtime 1.16.3"}},
     {}},
};

TEST(Versions, WhatBothSidesRecordAndNotAlike) {
  for (const VersionCase& each : kCases)
    EXPECT_EQ(changes(each.target, each.golden), each.told) << each.name;
}

}  // namespace
}  // namespace plumb::compare
