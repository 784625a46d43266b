// SPDX-License-Identifier: Apache-2.0
//
// The search for the smallest failing part, on networks made here and on our digit classifier. What
// "fails" is a function of the nodes that are there: no process is started, and the truth is known.
#include "replay/shrink.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "base/proto_wire.h"
#include "engine/record_tensors.h"
#include "graph/onnx_fields.h"
#include "graph/onnx_wiring.h"
#include "replay/check_command.h"
#include "scratch.h"

namespace plumb::replay {
namespace {

using graph::OnnxModel;
using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

using Strings = std::vector<std::string>;
const fs::path kDigits =
    fs::path(PLUMB_TEST_DATA) / ".." / ".." / "examples" / "models" / "digits.onnx";

struct Node {
  std::string type;
  Strings inputs, outputs;
};

// A model and the file it borrows from.
struct Loaded {
  std::shared_ptr<const std::string> file;
  OnnxModel model;
};

Loaded loaded(std::string bytes) {
  auto file = std::make_shared<const std::string>(std::move(bytes));
  auto model = graph::read_onnx(as_bytes(*file));
  EXPECT_TRUE(model.ok());
  return {file, model ? *model : OnnxModel{}};
}

ProtoWriter value_of(const std::string& name) {
  ProtoWriter size, shape, tensor, type, value;
  size.varint(1, 4);
  shape.message(1, size);
  tensor.varint(graph::tensor_type_field::kElementType, 1);
  tensor.message(graph::tensor_type_field::kShape, shape);
  type.message(graph::type_field::kTensor, tensor);
  value.text(graph::value_field::kName, name);
  value.message(graph::value_field::kType, type);
  return value;
}

// All tensors are float32 [4]; "x" is the input, names that start with 'w' are weights.
Loaded model_of(const std::vector<Node>& nodes, const Strings& outputs) {
  ProtoWriter graph;
  std::set<std::string> weights, tensors;
  for (const Node& node : nodes) {
    ProtoWriter proto;
    for (const std::string& name : node.inputs) {
      proto.text(graph::node_field::kInput, name);
      if (name[0] == 'w') weights.insert(name);
    }
    for (const std::string& name : node.outputs) {
      proto.text(graph::node_field::kOutput, name);
      tensors.insert(name);
    }
    proto.text(graph::node_field::kName, node.outputs.front());
    proto.text(graph::node_field::kOpType, node.type);
    graph.message(graph::graph_field::kNode, proto);
  }
  graph.text(graph::graph_field::kName, "made");
  for (const std::string& name : weights) {
    ProtoWriter tensor;
    tensor.varint(graph::tensor_field::kDims, 4);
    tensor.varint(graph::tensor_field::kDataType, 1);
    tensor.text(graph::tensor_field::kName, name);
    tensor.text(graph::tensor_field::kRawData, std::string(16, '\0'));
    graph.message(graph::graph_field::kInitializer, tensor);
  }
  graph.message(graph::graph_field::kInput, value_of("x"));
  for (const std::string& name : outputs)
    graph.message(graph::graph_field::kOutput, value_of(name));
  for (const std::string& name : tensors)
    graph.message(graph::graph_field::kValueInfo, value_of(name));
  ProtoWriter opset, model;
  opset.varint(2, 13);
  model.varint(graph::model_field::kIrVersion, 8);
  model.message(graph::model_field::kGraph, graph);
  model.message(graph::model_field::kOpsetImport, opset);
  return loaded(std::move(model).take());
}

// Node i adds two earlier tensors, mostly recent ones; the last is the output.
Loaded dag(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Node> nodes;
  const auto earlier = [&](size_t i) {
    const size_t back = 1 + random() % 5;
    return back > i ? std::string("x") : fmt::format("t{}", i - back);
  };
  for (size_t i = 0; i < count; ++i)
    nodes.push_back({"Add", {earlier(i), earlier(i)}, {fmt::format("t{}", i)}});
  return model_of(nodes, {fmt::format("t{}", count - 1)});
}

Strings names_of(const auto& list) {
  Strings names;
  for (const auto& item : list) names.emplace_back(item.name);
  return names;
}

// Everything that is read is produced, a weight or an input; outputs are produced.
void expect_sound(const OnnxModel& model) {
  std::set<std::string_view> there;
  for (const auto& weight : model.graph.initializers) there.insert(weight.name);
  for (const auto& input : model.graph.inputs) there.insert(input.name);
  for (const auto& node : model.graph.nodes) {
    for (std::string_view name : node.inputs) EXPECT_TRUE(name.empty() || there.contains(name));
    there.insert(node.outputs.begin(), node.outputs.end());
  }
  EXPECT_FALSE(model.graph.outputs.empty());
  for (const auto& output : model.graph.outputs) EXPECT_TRUE(there.contains(output.name));
  EXPECT_TRUE(graph::read_onnx(as_bytes(graph::write_onnx(model))).ok());
}

using Fails = std::function<Verdict(const std::set<std::string>& nodes)>;

std::set<std::string> node_set(const OnnxModel& model) {
  const Strings names = names_of(model.graph.nodes);
  return {names.begin(), names.end()};
}

Shrunk shrink_by(const OnnxModel& model, const Fails& fails, const Known& known = {}) {
  ShrinkWishes wishes;
  wishes.check = [&](const OnnxModel& candidate) -> Checked {
    expect_sound(candidate);
    return {fails(node_set(candidate)), 1};
  };
  return shrink(model, known, wishes);
}

Verdict has(const std::set<std::string>& nodes, const Strings& wanted) {
  for (const std::string& name : wanted)
    if (!nodes.contains(name)) return Verdict::kPasses;
  return Verdict::kFails;
}

TEST(Shrink, FindsOneNodeInTwoChecksForEachHalving) {
  const Loaded network = dag(200, 1);
  for (size_t i = 0; i < 200; i += 7) {
    const std::string wanted = fmt::format("t{}", i);
    const Shrunk shrunk =
        shrink_by(network.model, [&](const auto& nodes) { return has(nodes, {wanted}); });
    EXPECT_THAT(names_of(shrunk.model.graph.nodes), ElementsAre(wanted));
    EXPECT_TRUE(shrunk.is_minimal);
    EXPECT_LE(shrunk.steps.size(), 2 * 8 + 1u) << wanted;  // 2^8 > 200; one for value_infos
  }
}

TEST(Shrink, FindsTwoNodesFarApartAndNear) {
  const Loaded network = dag(724, 2);
  for (const auto& [a, b] : {std::pair{0, 723}, {5, 6}, {361, 362}, {100, 500}, {180, 181}}) {
    const Strings wanted{fmt::format("t{}", a), fmt::format("t{}", b)};
    const Shrunk shrunk =
        shrink_by(network.model, [&](const auto& nodes) { return has(nodes, wanted); });
    EXPECT_EQ(names_of(shrunk.model.graph.nodes), wanted);
    EXPECT_TRUE(shrunk.is_minimal);
    EXPECT_LE(shrunk.steps.size(), 80u) << a << " " << b;
  }
}

// Faults of any nodes, with candidates that nobody can judge in between.
TEST(Shrink, ResultFailsIsMinimalAndNothingIsTriedTwice) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const size_t count = 3 + seed * 3;
    const Loaded network = dag(count, seed);
    std::mt19937 random(seed);
    Strings wanted;
    for (unsigned i = 0; i < 1 + seed % 5; ++i)
      wanted.push_back(fmt::format("t{}", random() % count));
    const unsigned unclear = seed % 4;  // of ten
    const Fails fails = [&](const std::set<std::string>& nodes) {
      size_t hash = seed;
      for (const std::string& name : nodes) hash = hash * 31 + std::hash<std::string>{}(name);
      if (hash % 10 < unclear) return Verdict::kUnresolved;
      return has(nodes, wanted);
    };
    const Shrunk shrunk = shrink_by(network.model, fails);
    const auto left = node_set(shrunk.model);
    EXPECT_EQ(has(left, wanted), Verdict::kFails) << seed;
    if (unclear == 0) {
      EXPECT_EQ(left.size(), std::set(wanted.begin(), wanted.end()).size()) << seed;
    }
    EXPECT_TRUE(shrunk.is_minimal);
    for (const std::string& name : left) {
      auto fewer = left;
      fewer.erase(name);
      if (!fewer.empty()) {
        EXPECT_NE(fails(fewer), Verdict::kFails) << seed << " " << name;
      }
    }
    std::set<Part> parts;
    for (const ShrinkStep& step : shrunk.steps) EXPECT_TRUE(parts.insert(step.part).second);
    const double k = static_cast<double>(left.size()), n = static_cast<double>(count);
    EXPECT_LE(static_cast<double>(shrunk.steps.size()), 8 * k * (std::log2(n) + 1) + k * k) << seed;
  }
}

TEST(Shrink, WhatCannotBeMadeSmallerStays) {
  const Loaded network = dag(12, 3);
  const Shrunk shrunk = shrink_by(network.model, [](const auto&) { return Verdict::kPasses; });
  EXPECT_EQ(shrunk.part, whole(network.model));
  EXPECT_TRUE(shrunk.is_minimal);
  const Loaded one = dag(1, 0);
  EXPECT_EQ(shrink_by(one.model, [](const auto&) { return Verdict::kFails; }).part.nodes.size(),
            1u);
}

// A fault of a connection: the reader must still get what the other computes.
TEST(Shrink, KeepsAConnection) {
  const Loaded network = dag(100, 4);
  ShrinkWishes wishes;
  wishes.check = [](const OnnxModel& model) -> Checked {
    for (const auto& node : model.graph.nodes)
      for (std::string_view input : node.inputs)
        for (const auto& other : model.graph.nodes)
          if (!other.outputs.empty() && other.outputs[0] == input) return {Verdict::kFails, 1};
    return {Verdict::kPasses, 0};
  };
  const Shrunk shrunk = shrink(network.model, {}, wishes);
  EXPECT_EQ(shrunk.model.graph.nodes.size(), 2u);
  EXPECT_EQ(shrunk.model.graph.outputs.size(), 1u);  // the inner tensor is no output
}

TEST(Shrink, TakesTheSmallestOfSeveralOutputs) {
  const Loaded network = model_of({{"Relu", {"x"}, {"a"}},
                                   {"Relu", {"a"}, {"b"}},
                                   {"Relu", {"b"}, {"c"}},
                                   {"Relu", {"a"}, {"d"}}},
                                  {"b", "c", "d"});
  const Fails fails = [](const auto& nodes) { return has(nodes, {"a", "b"}); };
  std::vector<Strings> outputs;
  ShrinkWishes wishes;
  wishes.check = [&](const OnnxModel& model) -> Checked {
    outputs.push_back(names_of(model.graph.outputs));
    return {fails(node_set(model)), 1};
  };
  const Shrunk shrunk = shrink(network.model, {}, wishes);
  EXPECT_THAT(outputs[0], ElementsAre("b"));  // two nodes, as has d, but it comes first
  EXPECT_THAT(names_of(shrunk.model.graph.nodes), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(shrunk.model.graph.outputs), ElementsAre("b"));
}

TEST(Shrink, DropsOutputsThatTheFaultDoesNotNeed) {
  const Loaded network =
      model_of({{"Split", {"x"}, {"p", "q", "r"}}, {"Relu", {"q"}, {"a"}}, {"Relu", {"r"}, {"b"}}},
               {"p", "a", "b"});
  const Shrunk shrunk =
      shrink_by(network.model, [](const auto& nodes) { return has(nodes, {"p"}); });
  EXPECT_THAT(names_of(shrunk.model.graph.nodes), ElementsAre("p"));
  EXPECT_EQ(shrunk.model.graph.outputs.size(), 1u);
  EXPECT_THAT(shrunk.model.graph.value_infos, IsEmpty());
}

// Weights that are computed from weights belong to those who read them, until the very end.
TEST(Shrink, LeavesOutWhatPreparesWeightsLast) {
  std::vector<Node> nodes;
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    nodes.push_back({"Relu", {fmt::format("w{}", i)}, {fmt::format("c{}", i)}});
    nodes.push_back({"Add", {last, fmt::format("c{}", i)}, {fmt::format("a{}", i)}});
    last = fmt::format("a{}", i);
  }
  const Loaded network = model_of(nodes, {last});
  EXPECT_TRUE(graph::constant_nodes(network.model)[0]);
  EXPECT_FALSE(graph::constant_nodes(network.model)[1]);
  const float value[4] = {1, 2, 3, 4};
  Known known;
  known.outside.values["c5"] = {DType::kFloat32, {4}, std::as_bytes(std::span(value))};
  bool was_alone = false;
  const Shrunk shrunk = shrink_by(
      network.model,
      [&](const std::set<std::string>& names) {
        for (int i = 0; i < 8; ++i)
          if (!was_alone && names.contains(fmt::format("a{}", i))) {
            EXPECT_TRUE(names.size() == 1 || names.contains(fmt::format("c{}", i)));
          }
        was_alone |= names.size() == 1;
        return has(names, {"a5"});
      },
      known);
  EXPECT_THAT(names_of(shrunk.model.graph.nodes), ElementsAre("a5"));
  EXPECT_THAT(names_of(shrunk.model.graph.inputs), ElementsAre("a4"));
  EXPECT_THAT(names_of(shrunk.model.graph.initializers), ElementsAre("c5"));
}

TEST(Shrink, ConstantNodesComeAlongAndAreFoldedLast) {
  const Loaded network = model_of(
      {{"Constant", {}, {"k"}}, {"Add", {"x", "k"}, {"a"}}, {"Relu", {"a"}, {"b"}}}, {"b"});
  const Fails fails = [](const auto& nodes) { return has(nodes, {"a"}); };
  const Shrunk unknown = shrink_by(network.model, fails);
  EXPECT_THAT(names_of(unknown.model.graph.nodes), ElementsAre("k", "a"));
  const float value[4] = {1, 2, 3, 4};
  Known known;
  known.constants["k"] = {DType::kFloat32, {4}, std::as_bytes(std::span(value))};
  const Shrunk folded = shrink_by(network.model, fails, known);
  EXPECT_THAT(names_of(folded.model.graph.nodes), ElementsAre("a"));
  EXPECT_THAT(names_of(folded.model.graph.initializers), ElementsAre("k"));
  // A fault of the constant keeps it.
  EXPECT_THAT(names_of(shrink_by(
                           network.model,
                           [](const auto& nodes) {
                             return has(nodes, {"k", "a"});
                           },
                           known)
                           .model.graph.nodes),
              ElementsAre("k", "a"));
}

// Without types a part cannot become a model; it is not checked, and the rest is.
TEST(Shrink, WhatHasNoTypeIsNotTried) {
  const Loaded made =
      model_of({{"Relu", {"x"}, {"a"}}, {"Relu", {"a"}, {"b"}}, {"Relu", {"b"}, {"c"}}}, {"c"});
  OnnxModel model = made.model;
  std::erase_if(model.graph.value_infos, [](const auto& value) { return value.name == "a"; });
  const Fails fails = [](const auto& nodes) { return has(nodes, {"b"}); };
  const Shrunk shrunk = shrink_by(model, fails);
  EXPECT_THAT(names_of(shrunk.model.graph.nodes), ElementsAre("a", "b"));
  size_t unbuilt = 0;
  for (const ShrinkStep& step : shrunk.steps) unbuilt += step.nodes == 0;
  EXPECT_GT(unbuilt, 0u);
  Known known;
  known.outside.types["a"] = {DType::kFloat32, std::nullopt};  // half of it is not enough
  EXPECT_EQ(shrink_by(model, fails, known).model.graph.nodes.size(), 2u);
  known.outside.types["a"] = {DType::kFloat32, Shape{4}};
  EXPECT_EQ(shrink_by(model, fails, known).model.graph.nodes.size(), 1u);
}

TEST(Shrink, EndsEarlyWithTheBestSoFar) {
  const Loaded network = dag(300, 5);
  for (const size_t budget : {0, 1, 4, 9}) {
    size_t checks = 0, improvements = 0;
    ShrinkWishes wishes;
    wishes.check = [&](const OnnxModel& model) -> Checked {
      ++checks;
      return {has(node_set(model), {"t17", "t250"}), 1};
    };
    wishes.improved = [&](const OnnxModel& best) {
      ++improvements;
      EXPECT_EQ(has(node_set(best), {"t17", "t250"}), Verdict::kFails);
    };
    wishes.is_over = [&] { return checks >= budget; };
    const Shrunk shrunk = shrink(network.model, {}, wishes);
    EXPECT_EQ(checks, budget);
    EXPECT_FALSE(shrunk.is_minimal);
    EXPECT_EQ(has(node_set(shrunk.model), {"t17", "t250"}), Verdict::kFails);
    EXPECT_EQ(shrunk.model.graph.nodes.size() < 300, improvements > 0);
  }
}

TEST(Shrink, TheSamePartMakesTheSameModel) {
  const Loaded network = dag(60, 6);
  const Shrunk shrunk = shrink_by(network.model, [](const auto& nodes) {
    return has(nodes, {"t3", "t30"});
  });
  const auto again = build(network.model, shrunk.part, {});
  ASSERT_TRUE(again);
  EXPECT_EQ(graph::write_onnx(*again), graph::write_onnx(shrunk.model));
}

// Candidates of a real network are models that others accept, too.
TEST(Shrink, CandidatesOfARealNetworkAreValid) {
  if (std::system("/usr/bin/python3 -c 'import onnx' 2> /dev/null") != 0)
    GTEST_SKIP() << "needs /usr/bin/python3 with onnx";
  const auto file = MappedFile::open(kDigits.string());
  ASSERT_TRUE(file);
  const auto model = graph::read_onnx(file->bytes());
  ASSERT_TRUE(model);
  Scratch scratch;
  int count = 0;
  ShrinkWishes wishes;
  wishes.check = [&](const OnnxModel& candidate) -> Checked {
    std::ofstream(scratch.path() / fmt::format("{}.onnx", count++)) << graph::write_onnx(candidate);
    int types = 0;
    for (const auto& node : candidate.graph.nodes)
      types += node.type == "Concat" || node.type == "MaxPool";
    return {types == 2 ? Verdict::kFails : Verdict::kPasses, types};
  };
  const Shrunk shrunk = shrink(*model, {}, wishes);
  EXPECT_EQ(shrunk.model.graph.nodes.size(), 2u);
  EXPECT_GT(count, 10);
  const std::string command = fmt::format(
      "/usr/bin/python3 -c 'import glob, onnx\n"
      "for path in glob.glob(\"{}/*.onnx\"): onnx.checker.check_model(path, full_check=True)'",
      scratch.path().string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// The file records the type of every tensor of this one: the engine must say the same.
TEST(RecordTensors, TypesAreThoseOfTheFile) {
  auto engine = engine::load_engine("onnxruntime");
  if (!engine) GTEST_SKIP() << engine.error().what << ": " << engine.error().where;
  const auto file = MappedFile::open(kDigits.string());
  ASSERT_TRUE(file);
  const auto model = graph::read_onnx(file->bytes());
  ASSERT_TRUE(model);
  Strings tensors = names_of(model->graph.value_infos);
  ASSERT_EQ(tensors.size(), 30u);
  tensors.push_back("no such tensor");
  engine::Model view;
  view.graph = file->bytes();
  EXPECT_FALSE(engine::infer_types(**engine, view, tensors));
  tensors.pop_back();
  const auto inferred = engine::infer_types(**engine, view, tensors);
  ASSERT_TRUE(inferred);
  const engine::Inputs inputs{
      {"data", {DType::kFloat32, {1, 1, 28, 28}, std::vector<std::byte>(28 * 28 * 4)}}};
  const auto recorded = engine::record_tensors(
      **engine, view, inputs, tensors, [](const std::string& name) { return name == "fc6"; });
  ASSERT_TRUE(recorded);
  for (const graph::OnnxValue& value : model->graph.value_infos) {
    const std::string name(value.name);
    EXPECT_EQ(inferred->at(name).dtype, value.type.dtype) << name;
    EXPECT_EQ(inferred->at(name).shape, value.type.shape) << name;
    EXPECT_EQ(recorded->at(name).dtype, value.type.dtype) << name;
    EXPECT_EQ(recorded->at(name).shape, value.type.shape) << name;
    EXPECT_EQ(recorded->at(name).value.has_value(), name == "fc6");
  }
  EXPECT_EQ(recorded->at("fc6").value->size(), 40u);
}

TEST(Shrink, DirectoriesOfOthersAreLeftAlone) {
  const Scratch scratch;
  CheckOptions options;
  options.command = "false";
  options.directory = scratch.path() / "work";
  const RunContext context;
  {
    const auto first = CheckCommand::open(options, context);
    ASSERT_TRUE(first) << first.error().where;
    const auto second = CheckCommand::open(options, context);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().what, "another plumb writes into this directory");
  }
  EXPECT_TRUE(CheckCommand::open(options, context));
}

}  // namespace
}  // namespace plumb::replay
