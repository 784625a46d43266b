// SPDX-License-Identifier: Apache-2.0
//
// Models that were edited compute what they computed before: inlined branches, exposed loops, and
// operators cut out and fed with what the whole model computed.
#include "replay/run_part.h"

#include <cstring>
#include <iostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "graph/onnx_bodies.h"
#include "graph/onnx_edit.h"
#include "graph/onnx_external.h"
#include "graph/onnx_wiring.h"

namespace plumb::replay {
namespace {

namespace fs = std::filesystem;
using engine::Engine;
using engine::Inputs;
using engine::load_engine;
using engine::Tensor;
using testing::ElementsAre;

const fs::path kData = fs::path(PLUMB_TEST_DATA) / "onnx_edit";

Tensor floats(Shape shape, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::kFloat32, std::move(shape), {bytes.begin(), bytes.end()}};
}
Tensor flag(bool value) { return {DType::kBool, {}, {std::byte{value}}}; }

std::vector<float> values_of(const Tensor& tensor) {
  EXPECT_EQ(tensor.dtype, DType::kFloat32);
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = load_engine("onnxruntime");
    if (!loaded) GTEST_SKIP() << loaded.error().what << ": " << loaded.error().where;
    engine_ = *loaded;
  }

  graph::OnnxModel open(const fs::path& path) {
    auto file = MappedFile::open(path.string());
    EXPECT_TRUE(file.ok()) << path;
    file_ = std::move(*file);
    auto model = graph::read_onnx(file_.bytes());
    EXPECT_TRUE(model.ok()) << path;
    return *model;
  }

  Inputs run(const graph::OnnxModel& model, const Inputs& inputs) {
    const std::string bytes = graph::write_onnx(model);
    auto outputs = run_once(*engine_, {as_bytes(bytes), {}, {}, {}}, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.error().what << ": " << outputs.error().where;
    return outputs ? *outputs : Inputs{};
  }

  // Every one of these operators alone, fed with the tensors of the whole model, computes the same
  // bytes.
  void expect_same_bytes(const fs::path& path, const Inputs& inputs,
                         const std::vector<std::string>& operators) {
    const graph::OnnxModel whole = open(path);
    graph::OnnxModel exposed = whole;
    std::vector<std::string> tensors;
    for (const std::string& name : operators) {
      const auto node = graph::find_node(whole, name);
      ASSERT_TRUE(node.ok()) << node.error().what << "; " << node.error().remedy;
      const graph::Boundary boundary =
          graph::boundary_of(whole, graph::with_constant_sources(whole, std::array{*node}));
      tensors.insert(tensors.end(), boundary.inputs.begin(), boundary.inputs.end());
      tensors.insert(tensors.end(), boundary.outputs.begin(), boundary.outputs.end());
    }
    graph::expose(exposed, tensors);
    Inputs known = run(exposed, inputs);
    known.insert(inputs.begin(), inputs.end());

    for (const std::string& name : operators) {
      SCOPED_TRACE(name);
      const auto part =
          graph::with_constant_sources(whole, std::array{*graph::find_node(whole, name)});
      auto types = input_types(*engine_, {file_.bytes(), {}, {}, {}}, whole, part);
      ASSERT_TRUE(types.ok()) << types.error().what << types.error().where;
      const auto alone = graph::cut(whole, part, {*types, {}});
      ASSERT_TRUE(alone.ok()) << alone.error().what << ": " << alone.error().where;
      Inputs fed;
      for (const graph::OnnxValue& input : alone->graph.inputs)
        fed[std::string(input.name)] = known[std::string(input.name)];
      for (const auto& [tensor, value] : run(*alone, fed)) {
        EXPECT_EQ(value.shape, known[tensor].shape) << tensor;
        EXPECT_TRUE(value.bytes == known[tensor].bytes) << tensor << " differs";
        ++compared_;
      }
    }
  }

  std::shared_ptr<Engine> engine_;
  MappedFile file_;
  int compared_ = 0;
};

TEST_F(Replay, InlinedBranchesComputeTheSame) {
  const graph::OnnxModel whole = open(kData / "branches.onnx");
  for (const bool first : {false, true})
    for (const bool second : {false, true}) {
      const Inputs inputs{
          {"x", floats({2}, {0.5f, -3})}, {"flag", flag(first)}, {"flag2", flag(second)}};
      graph::OnnxModel inlined = whole;
      ASSERT_TRUE(graph::inline_if(inlined, *graph::find_node(inlined, "first"), first).ok());
      if (first) {
        ASSERT_TRUE(graph::inline_if(inlined, *graph::find_node(inlined, "second"), second).ok());
      }
      // An If reads its condition; nobody does now.
      Inputs outputs = run(whole, inputs);
      EXPECT_EQ(values_of(run(inlined, inputs)["y"]), values_of(outputs["y"]));
    }
}

TEST_F(Replay, ExposedLoopsGiveAllIterations) {
  graph::OnnxModel loop = open(kData / "loop.onnx");
  const auto exposed =
      graph::expose_loop(loop, 0, std::vector<std::string>{"square", "state_out", "negative"});
  ASSERT_TRUE(exposed.ok());
  std::vector<std::string> outputs;
  for (const graph::Exposed& each : *exposed) outputs.push_back(each.output);
  graph::expose(loop, outputs);
  Inputs given = run(loop, {{"x", floats({2}, {1, 2})}});
  EXPECT_THAT(values_of(given["loop.body/state_out"]), ElementsAre(2, 12, 3, 22, 4, 32));
  EXPECT_THAT(values_of(given["loop.body/square"]), ElementsAre(4, 144, 9, 484, 16, 1024));
  EXPECT_EQ(given["loop.body/negative"].shape, (Shape{3, 2}));
  EXPECT_THAT(values_of(given["last"]), ElementsAre(4, 32));
}

TEST_F(Replay, ExposedScansGiveAllIterations) {
  graph::OnnxModel scan = open(kData / "scan.onnx");
  const auto exposed = graph::expose_loop(scan, 0, std::vector<std::string>{"sum_out", "exp"});
  ASSERT_TRUE(exposed.ok());
  graph::expose(scan, std::vector<std::string>{"scan.body/sum_out"});
  Inputs given = run(scan, {{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(values_of(given["scan.body/sum_out"]), ElementsAre(1, 2, 4, 6, 9, 12));
}

TEST_F(Replay, ExternalDataInsideComputeTheSame) {
  graph::OnnxModel model = open(kData / "external.onnx");
  ASSERT_TRUE(graph::inline_external(model, {kData, {}}).ok());
  const Inputs inputs{{"x", floats({2, 3}, {1, 1, 1, 1, 1, 1})}, {"flag", flag(true)}};
  auto beside = run_once(*engine_, {file_.bytes(), {}, {kData, {}}, {}}, inputs);
  ASSERT_TRUE(beside.ok()) << beside.error().where;
  EXPECT_EQ(values_of(run(model, inputs)["y"]), values_of((*beside)["y"]));
}

TEST_F(Replay, WeightsThatAreNoInputsComputeTheSame) {
  graph::OnnxModel model = open(kData / "chain.onnx");
  const Inputs inputs{{"x", floats({1, 1, 4, 4}, std::vector<float>(16, 0.25f))}};
  const std::vector<float> before = values_of(run(model, inputs)["y"]);
  graph::drop_weight_inputs(model);
  EXPECT_EQ(values_of(run(model, inputs)["y"]), before);
}

TEST_F(Replay, OperatorsOfOurModelsComputeTheSameAlone) {
  std::vector<float> ramp;
  for (int i = 0; i < 32; ++i) ramp.push_back(0.37f * static_cast<float>(i) - 5);
  expect_same_bytes(kData / "chain.onnx", {{"x", floats({2, 1, 4, 4}, ramp)}},
                    {"conv", "r", "mul", "gate", "add", "split", "dead"});
  expect_same_bytes(kData / "weights.onnx",
                    {{"x", floats({2, 4}, {ramp.begin(), ramp.begin() + 8})}},
                    {"dequantize", "turn", "matmul"});
  expect_same_bytes(kData / "branches.onnx",
                    {{"x", floats({2}, {1, -2})}, {"flag", flag(true)}, {"flag2", flag(false)}},
                    {"n", "first", "sum", "last"});
}

// The first operators of each type of a real network, found under $PLUMB_MODELS.
TEST_F(Replay, OperatorsOfRealNetworksComputeTheSameAlone) {
  const char* folder = std::getenv("PLUMB_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "set PLUMB_MODELS to a folder with .onnx files";
  std::set<std::string, std::less<>> types;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".onnx") continue;
    SCOPED_TRACE(file.path());
    const graph::OnnxModel model = open(file.path());
    auto session = engine_->open({file_.bytes(), {}, {file.path().parent_path(), {}}, {}}, {});
    if (!session) continue;
    Inputs inputs;
    bool can_be_fed = true;
    for (const engine::Port& port : (*session)->inputs()) {
      Shape shape = port.shape;
      for (int64_t& size : shape)
        if (size < 0) size = &size == shape.data() ? 1 : 64;
      const int64_t count = element_count(shape).value_or(0);
      can_be_fed &= port.dtype == DType::kFloat32 && count < (1 << 22);
      std::vector<float> values(static_cast<size_t>(count));
      uint32_t state = 1;
      for (float& value : values)
        value = static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 8388608.0f - 1;
      inputs[port.name] = floats(shape, values);
    }
    if (!can_be_fed) continue;
    std::vector<std::string> operators;
    std::map<std::string, int, std::less<>> seen;
    for (const graph::OnnxNode& node : model.graph.nodes)
      if (node.type != "Constant" && ++seen[std::string(node.type)] <= 2) {
        operators.push_back(node.name);
        types.emplace(node.type);
      }
    expect_same_bytes(file.path(), inputs, operators);
  }
  std::string list;
  for (const std::string& type : types) list += " " + type;
  std::cout << compared_ << " tensors, " << types.size() << " types:" << list << "\n";
}

TEST(Fitted, ChangesTypesWithoutLosingNumbers) {
  const Tensor half{
      DType::kFloat16, {2}, {std::byte{0}, std::byte{0x3C}, std::byte{0}, std::byte{0xC0}}};
  const auto wide = fitted(half, DType::kFloat32, {1, 2});
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->shape, (Shape{1, 2}));
  EXPECT_THAT(values_of(*wide), ElementsAre(1, -2));
  const auto back = fitted(*wide, DType::kFloat16, {2});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->bytes, half.bytes);

  const Tensor bytes{DType::kInt8, {2}, {std::byte{0xFF}, std::byte{5}}};
  const auto longs = fitted(bytes, DType::kInt64, {2});
  ASSERT_TRUE(longs.ok());
  EXPECT_EQ(load_le<int64_t>(longs->bytes.data()), -1);
  EXPECT_FALSE(fitted(bytes, DType::kUint8, {2}).ok()) << "-1 does not fit";
  EXPECT_TRUE(fitted(*longs, DType::kInt8, {2}).ok());
  EXPECT_FALSE(fitted(bytes, DType::kFloat32, {2}).ok()) << "what do the integers stand for?";
  EXPECT_FALSE(fitted(*wide, DType::kInt32, {2}).ok());
  EXPECT_FALSE(fitted(*wide, DType::kFloat32, {3}).ok());
  const Tensor matrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(fitted(matrix, DType::kFloat32, {3, 2}).ok()) << "in which order?";
}

}  // namespace
}  // namespace plumb::replay
