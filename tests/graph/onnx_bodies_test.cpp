// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_bodies.h"

#include "graph/onnx_edit.h"
#include "graph/onnx_files.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(OnnxBodies, InlinesBranchesFromTheOutsideIn) {
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

TEST(OnnxBodies, InlinesUnnamedNodes) {
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

TEST(OnnxBodies, RefusesToInlineOthers) {
  Loaded loop = load("loop.onnx");
  const auto refused = inline_if(loop.model, 0, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "node 'loop' is no If");
}

TEST(OnnxBodies, InlinesAllBranchesThatAreKnown) {
  const Loaded branches = load("branches.onnx");
  std::vector<std::string> asked;
  const auto inline_with = [&](const Conditions& known) {
    asked.clear();
    return inline_branches(as_bytes(*branches.file),
                           [&](const Branching& now) -> Result<Conditions> {
                             EXPECT_EQ(listed(*read_onnx(now.file)), listed(now.model));
                             for (const std::string& condition : now.conditions)
                               asked.push_back(condition);
                             return known;
                           });
  };
  const auto both = inline_with({{"flag", true}, {"flag2", false}});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->branches, 2);
  EXPECT_THAT(asked, ElementsAre("flag", "flag2")) << "one within the other";
  EXPECT_THAT(names(read_onnx(as_bytes(both->file))->graph.nodes),
              ElementsAre("n", "first.then_branch/n", "deep", "second", "first", "first.output_1",
                          "sum", "last"));
  EXPECT_EQ(inline_with({{"flag", true}})->branches, 1);
  const auto none = inline_with({});
  EXPECT_EQ(none->branches, 0);
  EXPECT_EQ(none->file, "");
  EXPECT_FALSE(
      inline_branches(as_bytes(*branches.file), [](const Branching&) -> Result<Conditions> {
        return Error{"no", "", ""};
      }).ok());
}

TEST(OnnxBodies, ExposesWhatLoopsCompute) {
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

TEST(OnnxBodies, ExposesWhatScansCompute) {
  Loaded scan = load("scan.onnx");
  const auto exposed = expose_loop(scan.model, 0, std::vector<std::string>{"exp"});
  ASSERT_TRUE(exposed.ok());
  EXPECT_EQ(listed(scan.model), "scan Scan(zero,x)=total,exps,scan.body/exp\n");
  expect_sound(scan.model);
  Loaded chain = load("chain.onnx");
  EXPECT_FALSE(expose_loop(chain.model, 0, {}).ok());
}

}  // namespace
}  // namespace plumb::graph
