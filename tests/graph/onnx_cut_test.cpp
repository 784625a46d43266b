// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_cut.h"

#include <array>

#include "graph/onnx_files.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OnnxCut, CutsOneOperatorOut) {
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

TEST(OnnxCut, CutTakesConstantsAlong) {
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

TEST(OnnxCut, CutKnowsWhatOthersNeed) {
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

TEST(OnnxCut, CutNeedsTypes) {
  const Loaded chain = load("chain.onnx");
  const auto gate = cut(chain.model, std::array{index(chain.model, "add")});
  ASSERT_FALSE(gate.ok());
  EXPECT_EQ(gate.error().what, "the type of an input is not known");
  EXPECT_EQ(gate.error().where, "s");
  EXPECT_FALSE(cut(chain.model, {}).ok());
}

TEST(OnnxCut, CutTakesWhatBodiesRead) {
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

TEST(OnnxCut, ValuesBecomeInitializers) {
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

TEST(OnnxCut, WithoutSomeNodes) {
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

}  // namespace
}  // namespace plumb::graph
