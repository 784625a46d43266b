// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_edit.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/listing.h"
#include "graph/readers.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const std::filesystem::path kData = std::filesystem::path(PLUMB_TEST_DATA) / "onnx_edit";

// A model and the file it borrows from.
struct Loaded {
  std::shared_ptr<const std::string> file;
  OnnxModel model;
};

Loaded load(const std::string& name) {
  auto file = std::make_shared<const std::string>(text_of(kData / name));
  auto model = read_onnx(as_bytes(*file));
  EXPECT_TRUE(model.ok()) << name;
  return {file, model ? *model : OnnxModel{}};
}

std::vector<std::string> names(const auto& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(item.name);
  return names;
}

size_t index(const OnnxModel& model, std::string_view name) {
  const auto found = find_node(model, name);
  EXPECT_TRUE(found.ok()) << name;
  return found ? *found : 0;
}

// "name type(inputs|captures)outputs" of every node.
std::string listed(const OnnxModel& model) {
  std::string text;
  for (const OnnxNode& node : model.graph.nodes)
    text += fmt::format("{} {}({}{}{})={}\n", node.name, node.type, fmt::join(node.inputs, ","),
                        node.captures.empty() ? "" : "|", fmt::join(node.captures, ","),
                        fmt::join(node.outputs, ","));
  return text;
}

// What is in memory is what is written: names of nodes, values and weights, and how they are wired.
// Every tensor that is read has a producer.
void expect_sound(const OnnxModel& model) {
  const std::string written = write_onnx(model);
  const auto read = read_onnx(as_bytes(written));
  ASSERT_TRUE(read.ok()) << read.error().where;
  EXPECT_EQ(listed(*read), listed(model));
  EXPECT_EQ(names(read->graph.inputs), names(model.graph.inputs));
  EXPECT_EQ(names(read->graph.outputs), names(model.graph.outputs));
  EXPECT_EQ(names(read->graph.initializers), names(model.graph.initializers));
  EXPECT_EQ(names(read->graph.value_infos), names(model.graph.value_infos));
  EXPECT_THAT(graph_from_onnx(as_bytes(written))->warnings, IsEmpty());
}

TEST(OnnxEdit, FindsNodesByName) {
  const Loaded chain = load("chain.onnx");
  EXPECT_EQ(*find_node(chain.model, "r"), 1u);
  const auto unknown = find_node(chain.model, "gatt");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().remedy, HasSubstr("did you mean 'gate'?"));
}

TEST(OnnxEdit, ExposeAddsOutputs) {
  Loaded chain = load("chain.onnx");
  const std::vector<std::string> wanted{"r", "y", "nothing", "x", "w", "", "m", "r"};
  EXPECT_THAT(expose(chain.model, wanted), ElementsAre("r", "y", "m", "r"));
  EXPECT_THAT(names(chain.model.graph.outputs), ElementsAre("y", "r", "m"));
  expect_sound(chain.model);
}

TEST(OnnxEdit, WeightsAreNoInputs) {
  Loaded chain = load("chain.onnx");
  drop_weight_inputs(chain.model);
  EXPECT_THAT(names(chain.model.graph.inputs), ElementsAre("x"));
  EXPECT_THAT(names(chain.model.graph.initializers), ElementsAre("w", "b"));
  EXPECT_EQ(chain.model.ir_version, 4);
  expect_sound(chain.model);

  Loaded loop = load("loop.onnx");
  drop_weight_inputs(loop.model);
  EXPECT_EQ(loop.model.ir_version, 8) << "new enough";
}

TEST(OnnxEdit, InlinesBranchesFromTheOutsideIn) {
  Loaded branches = load("branches.onnx");
  const auto first = inline_if(branches.model, index(branches.model, "first"), true);
  ASSERT_TRUE(first.ok()) << first.error().where;
  // t and n are names of the graph around; k and inner are not.
  EXPECT_THAT(first->tensors, UnorderedElementsAre(Pair("t", "first.then_branch/t"),
                                                   Pair("inner", "inner"), Pair("k", "k")));
  EXPECT_THAT(first->nodes,
              UnorderedElementsAre(Pair("n", "first.then_branch/n"), Pair("second", "second")));
  EXPECT_EQ(listed(branches.model),
            "n Abs(x)=before\n"
            "first.then_branch/n Mul(x,k)=first.then_branch/t\n"
            "second If(flag2|first.then_branch/t,x)=inner\n"
            "first Identity(inner)=a\n"
            "first.output_1 Identity(k)=b\n"
            "sum Add(a,b)=t\n"
            "last Add(t,before)=y\n");
  EXPECT_THAT(names(branches.model.graph.initializers), ElementsAre("k"));
  EXPECT_THAT(names(branches.model.graph.value_infos), ElementsAre("first.then_branch/t"));
  expect_sound(branches.model);

  const auto second = inline_if(branches.model, index(branches.model, "second"), false);
  ASSERT_TRUE(second.ok()) << second.error().where;
  EXPECT_EQ(listed(branches.model),
            "n Abs(x)=before\n"
            "first.then_branch/n Mul(x,k)=first.then_branch/t\n"
            "deep Sub(first.then_branch/t,x)=d\n"
            "second Identity(d)=inner\n"
            "first Identity(inner)=a\n"
            "first.output_1 Identity(k)=b\n"
            "sum Add(a,b)=t\n"
            "last Add(t,before)=y\n");
  expect_sound(branches.model);
}

TEST(OnnxEdit, InlinesUnnamedNodes) {
  Loaded branches = load("branches.onnx");
  ASSERT_TRUE(inline_if(branches.model, 1, false).ok());
  EXPECT_EQ(listed(branches.model),
            "n Abs(x)=before\n"
            "first.else_branch/n Neg(x)=first.else_branch/t\n"
            "e Exp(first.else_branch/t)=e\n"
            "first Identity(e)=a\n"
            "first.output_1 Identity(first.else_branch/t)=b\n"
            "sum Add(a,b)=t\n"
            "last Add(t,before)=y\n");
  expect_sound(branches.model);
}

TEST(OnnxEdit, RefusesToInlineOthers) {
  Loaded loop = load("loop.onnx");
  const auto refused = inline_if(loop.model, 0, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "node 'loop' is no If");
}

TEST(OnnxEdit, ExposesWhatLoopsCompute) {
  Loaded loop = load("loop.onnx");
  // state_out is carried on, so a copy of it is stacked; i and step are produced by no node.
  const std::vector<std::string> wanted{"square", "state_out", "i", "step", "nothing"};
  const auto exposed = expose_loop(loop.model, 0, wanted);
  ASSERT_TRUE(exposed.ok()) << exposed.error().where;
  ASSERT_EQ(exposed->size(), 2u);
  EXPECT_EQ((*exposed)[0].tensor, "square");
  EXPECT_EQ((*exposed)[0].output, "loop.body/square");
  EXPECT_EQ((*exposed)[1].output, "loop.body/state_out");
  EXPECT_EQ(listed(loop.model),
            "loop Loop(trips,,x|step)=last,squares,loop.body/square,loop.body/state_out\n");
  expect_sound(loop.model);
  EXPECT_THAT(expose(loop.model, std::vector<std::string>{"loop.body/square"}),
              ElementsAre("loop.body/square"));
}

TEST(OnnxEdit, ExposesWhatScansCompute) {
  Loaded scan = load("scan.onnx");
  const auto exposed = expose_loop(scan.model, 0, std::vector<std::string>{"exp"});
  ASSERT_TRUE(exposed.ok());
  EXPECT_EQ(listed(scan.model), "scan Scan(zero,x)=total,exps,scan.body/exp\n");
  expect_sound(scan.model);
  Loaded chain = load("chain.onnx");
  EXPECT_FALSE(expose_loop(chain.model, 0, {}).ok());
}

TEST(OnnxEdit, CutsOneOperatorOut) {
  const Loaded chain = load("chain.onnx");
  const auto conv = cut(chain.model, std::array{index(chain.model, "conv")});
  ASSERT_TRUE(conv.ok()) << conv.error().where;
  EXPECT_EQ(listed(*conv), "conv Conv(x,w,b)=c\n");
  EXPECT_THAT(names(conv->graph.inputs), ElementsAre("x"));
  EXPECT_THAT(names(conv->graph.initializers), ElementsAre("w", "b"));
  EXPECT_THAT(names(conv->graph.outputs), ElementsAre("c"));
  EXPECT_EQ(conv->ir_version, 4);
  EXPECT_EQ(conv->other_fields.size(), chain.model.other_fields.size());
  expect_sound(*conv);
}

TEST(OnnxEdit, CutTakesConstantsAlong) {
  const Loaded chain = load("chain.onnx");
  const auto mul = cut(chain.model, std::array{index(chain.model, "mul")});
  ASSERT_TRUE(mul.ok());
  EXPECT_EQ(listed(*mul), "two Constant()=two\nmul Mul(r,two)=m\n");
  EXPECT_THAT(names(mul->graph.inputs), ElementsAre("r"));
  EXPECT_EQ(mul->graph.inputs[0].type.shape, (Shape{-1, 2, 4, 4})) << "from value_info";
  EXPECT_THAT(names(mul->graph.outputs), ElementsAre("m"));
  EXPECT_THAT(mul->graph.initializers, IsEmpty());
  expect_sound(*mul);
}

TEST(OnnxEdit, CutKnowsWhatOthersNeed) {
  const Loaded chain = load("chain.onnx");
  const auto part = cut(
      chain.model,
      std::array{index(chain.model, "mul"), index(chain.model, "add"), index(chain.model, "split")},
      {{{"s", {DType::kFloat32, Shape{1, 2, 4, 4}}}}, {}});
  ASSERT_TRUE(part.ok()) << part.error().where;
  EXPECT_THAT(names(part->graph.inputs), ElementsAre("r", "s"));
  EXPECT_EQ(part->graph.inputs[1].type.shape, (Shape{1, 2, 4, 4}));
  // m is read within only; y is an output of the model, left is read outside, right by nobody.
  EXPECT_THAT(names(part->graph.outputs), ElementsAre("y", "left", "right"));
  EXPECT_THAT(names(part->graph.value_infos), ElementsAre("m"));
  expect_sound(*part);
}

TEST(OnnxEdit, CutNeedsTypes) {
  const Loaded chain = load("chain.onnx");
  const auto gate = cut(chain.model, std::array{index(chain.model, "add")});
  ASSERT_FALSE(gate.ok());
  EXPECT_EQ(gate.error().what, "the type of an input is not known");
  EXPECT_EQ(gate.error().where, "s");
  EXPECT_FALSE(cut(chain.model, {}).ok());
}

TEST(OnnxEdit, CutTakesWhatBodiesRead) {
  const Loaded branches = load("branches.onnx");
  const auto first = cut(branches.model, std::array{index(branches.model, "first")});
  ASSERT_TRUE(first.ok()) << first.error().where;
  EXPECT_THAT(names(first->graph.inputs), ElementsAre("flag", "x", "flag2"));
  EXPECT_THAT(names(first->graph.outputs), ElementsAre("a", "b"));
  expect_sound(*first);
  const Loaded loop = load("loop.onnx");
  EXPECT_THAT(names(cut(loop.model, std::array<size_t, 1>{0})->graph.initializers),
              ElementsAre("trips", "step"));
}

TEST(OnnxEdit, ValuesBecomeInitializers) {
  const Loaded chain = load("chain.onnx");
  const std::array<float, 2> numbers{1.5f, -2};
  Outside outside;
  outside.values["s"] = {DType::kFloat32, {2}, std::as_bytes(std::span(numbers))};
  const auto add = cut(chain.model, std::array{index(chain.model, "add")}, outside);
  ASSERT_TRUE(add.ok()) << add.error().where;
  EXPECT_THAT(names(add->graph.inputs), ElementsAre("m"));
  EXPECT_THAT(names(add->graph.initializers), ElementsAre("s"));
  expect_sound(*add);
  outside.values["s"].shape = {3};
  EXPECT_FALSE(cut(chain.model, std::array{index(chain.model, "add")}, outside).ok());
}

TEST(OnnxEdit, WithoutSomeNodes) {
  const Loaded chain = load("chain.onnx");
  const auto rest =
      without(chain.model, std::array{index(chain.model, "conv"), index(chain.model, "r")});
  ASSERT_TRUE(rest.ok()) << rest.error().where;
  EXPECT_EQ(listed(*rest),
            "two Constant()=two\nmul Mul(r,two)=m\ngate Sigmoid(r)=s\nadd Add(m,s)=y\n"
            "split Split(m)=left,right\ndead Exp(left)=unread\n");
  EXPECT_THAT(names(rest->graph.inputs), ElementsAre("r"));
  EXPECT_THAT(rest->graph.initializers, IsEmpty());
  EXPECT_THAT(names(rest->graph.outputs), ElementsAre("y", "right", "unread"));
  expect_sound(*rest);
}

TEST(OnnxEdit, WeightsThatNodesMakeAreConstant) {
  const Loaded weights = load("weights.onnx");
  const auto all = with_constant_sources(weights.model, std::array<size_t, 1>{2});
  EXPECT_THAT(all, ElementsAre(0u, 1u, 2u));
  const auto matmul = cut(weights.model, all);
  ASSERT_TRUE(matmul.ok());
  EXPECT_THAT(names(matmul->graph.inputs), ElementsAre("x"));
  EXPECT_THAT(names(matmul->graph.outputs), ElementsAre("y"));
  const Loaded chain = load("chain.onnx");
  EXPECT_THAT(with_constant_sources(chain.model, std::array<size_t, 1>{5}), ElementsAre(5u));
  EXPECT_THAT(with_constant_sources(chain.model, std::array<size_t, 1>{3}), ElementsAre(2u, 3u));
}

TEST(OnnxEdit, RangesFollowTheData) {
  const Loaded chain = load("chain.onnx");
  const OnnxModel& model = chain.model;
  EXPECT_THAT(nodes_between(model, index(model, "r"), index(model, "add")),
              ElementsAre(1u, 3u, 4u, 5u));
  EXPECT_THAT(nodes_between(model, 3, 3), ElementsAre(3u));
  EXPECT_THAT(nodes_between(model, index(model, "gate"), index(model, "split")), IsEmpty());
}

TEST(OnnxEdit, ExternalDataMoveIn) {
  Loaded external = load("external.onnx");
  const auto inlined = inline_external(external.model, kData);
  ASSERT_TRUE(inlined.ok()) << inlined.error().where;
  EXPECT_FALSE(external.model.is_external());
  const std::string data = text_of(kData / "weights.bin").substr(16);
  EXPECT_THAT(as_text(external.model.graph.initializers[0].bytes), HasSubstr(data));
  EXPECT_THAT(as_text(external.model.graph.nodes[0].bytes), HasSubstr(data.substr(0, 12)));
  expect_sound(external.model);
}

TEST(OnnxEdit, ExternalDataAreCheckedFirst) {
  struct Case {
    const char* name;
    const char* what;
  };
  const Case cases[] = {
      {"escape_parent", "external data lie outside the model's directory"},
      {"escape_absolute", "external data lie outside the model's directory"},
      {"escape_inside", "external data lie outside the model's directory"},
      {"missing", "external data are missing"},
      {"too_long", "external data end before the tensor does"},
      {"misfit", "external data and the tensor's shape do not fit each other"},
      {"senseless", "external data have no sensible place"},
      {"huge", "external data end before the tensor does"},
      {"absurd", "external data have no length"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Loaded model = load(std::string("external_") + c.name + ".onnx");
    const auto inlined = inline_external(model.model, kData);
    ASSERT_FALSE(inlined.ok());
    EXPECT_EQ(inlined.error().what, c.what);
    EXPECT_THAT(inlined.error().where, HasSubstr("tensor 'w'"));
    EXPECT_TRUE(model.model.is_external()) << "changed although it failed";
  }
  // A link that leads out of the directory.
  Scratch scratch;
  std::filesystem::create_directory(scratch.path() / "model");
  std::filesystem::copy_file(kData / "weights.bin", scratch.path() / "secret");
  std::filesystem::create_symlink("../secret", scratch.path() / "model/weights.bin");
  Loaded linked = load("external.onnx");
  EXPECT_FALSE(inline_external(linked.model, scratch.path() / "model").ok());
  EXPECT_TRUE(inline_external(linked.model, kData).ok());
}

}  // namespace
}  // namespace plumb::graph
