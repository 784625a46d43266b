// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_edit.h"

#include "graph/onnx_build.h"
#include "graph/onnx_files.h"
#include "graph/quantized_conv.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;

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

// Q and DQ for a tensor: their parameters are initializers "scale" and "zero".
std::vector<OnnxNode> pair_of_nodes(OnnxModel& model, const std::string& tensor) {
  std::vector<OnnxNode> nodes;
  add(nodes, make_node(model, {.type = "QuantizeLinear",
                               .inputs = {tensor, "scale", "zero"},
                               .outputs = {tensor + "_q"}}));
  add(nodes, make_node(model, {.type = "DequantizeLinear",
                               .inputs = {tensor + "_q", "scale", "zero"},
                               .outputs = {tensor + "_dq"}}));
  return nodes;
}

// Nodes of the same name are the same bytes.
void expect_untouched(const OnnxModel& before, const OnnxModel& after,
                      const std::vector<std::string>& touched) {
  for (const OnnxNode& node : before.graph.nodes) {
    if (std::find(touched.begin(), touched.end(), node.name) != touched.end()) continue;
    const auto found = find_node(after, node.name);
    ASSERT_TRUE(found.ok()) << node.name;
    EXPECT_EQ(as_text(after.graph.nodes[*found].bytes), as_text(node.bytes)) << node.name;
  }
}

TEST(OnnxEdit, NodesOnAllEdgesOfATensor) {
  const Loaded chain = load("chain.onnx");
  OnnxModel model = chain.model;
  const auto place =
      insert_nodes(model, pair_of_nodes(model, "r"), "r", readers_of(model, "r"), "r_dq");
  ASSERT_TRUE(place.ok()) << place.error().where;
  EXPECT_EQ(*place, 2u) << "behind the Relu";
  EXPECT_EQ(listed(model),
            "conv Conv(x,w,b)=c\n"
            "r Relu(c)=r\n"
            "r_q QuantizeLinear(r,scale,zero)=r_q\n"
            "r_dq DequantizeLinear(r_q,scale,zero)=r_dq\n"
            "two Constant()=two\n"
            "mul Mul(r_dq,two)=m\n"
            "gate Sigmoid(r_dq)=s\n"
            "add Add(m,s)=y\n"
            "split Split(m)=left,right\n"
            "dead Exp(left)=unread\n");
  expect_untouched(chain.model, model, {"mul", "gate"});
  EXPECT_EQ(as_text(model.graph.value_infos[0].bytes),
            as_text(chain.model.graph.value_infos[0].bytes));
}

TEST(OnnxEdit, NodesOnOneEdge) {
  const Loaded chain = load("chain.onnx");
  OnnxModel model = chain.model;
  const std::vector<OnnxReader> readers = readers_of(model, "m");
  ASSERT_EQ(readers.size(), 2u);
  EXPECT_EQ(readers[0].node, index(model, "add"));
  EXPECT_EQ(readers[0].input, 0u);
  ASSERT_TRUE(
      insert_nodes(model, pair_of_nodes(model, "m"), "m", std::span(readers).last(1), "m_dq").ok());
  EXPECT_THAT(model.graph.nodes[index(model, "add")].inputs, ElementsAre("m", "s"));
  EXPECT_THAT(model.graph.nodes[index(model, "split")].inputs, ElementsAre("m_dq"));
  expect_untouched(chain.model, model, {"split"});
}

TEST(OnnxEdit, NodesOnTheWayOfAnInputAndOfAnOutput) {
  Loaded chain = load("chain.onnx");
  OnnxModel& model = chain.model;
  EXPECT_EQ(*insert_nodes(model, pair_of_nodes(model, "x"), "x", readers_of(model, "x"), "x_dq"),
            0u);
  EXPECT_THAT(model.graph.nodes[2].inputs, ElementsAre("x_dq", "w", "b"));
  // The output keeps its name: the node before gives another one.
  const size_t last = index(model, "add");
  auto before = with_names(model, model.graph.nodes[last], {{"y", "y_raw"}});
  ASSERT_TRUE(before.ok());
  std::vector<OnnxNode> nodes{*before};
  add(nodes, make_node(model, {.type = "Relu", .inputs = {"y_raw"}, .outputs = {"y"}}));
  replace_node(model, last, std::move(nodes));
  EXPECT_THAT(names(model.graph.outputs), ElementsAre("y"));
  EXPECT_EQ(model.graph.nodes[last].name, "add");
  EXPECT_THAT(model.graph.nodes[last].outputs, ElementsAre("y_raw"));
  const std::string file = write_onnx(model);
  EXPECT_EQ(listed(*read_onnx(as_bytes(file))), listed(model));
}

TEST(OnnxEdit, BodiesAreRewiredToo) {
  Loaded branches = load("branches.onnx");
  OnnxModel& model = branches.model;
  const std::vector<OnnxReader> readers = readers_of(model, "x");
  ASSERT_EQ(readers.size(), 2u);
  EXPECT_EQ(readers[1].input, std::nullopt) << "in bodies of the If";
  std::vector<OnnxNode> nodes{make_identity(model, "copy", "x", "x_copy")};
  ASSERT_TRUE(insert_nodes(model, std::move(nodes), "x", readers, "x_copy").ok());
  EXPECT_EQ(listed(model),
            "copy Identity(x)=x_copy\n"
            "n Abs(x_copy)=before\n"
            "first If(flag|x_copy,flag2)=a,b\n"
            "sum Add(a,b)=t\n"
            "last Add(t,before)=y\n");
  expect_sound(model);
}

TEST(OnnxEdit, NodesComeBehindWhatTheyRead) {
  Loaded chain = load("chain.onnx");
  OnnxModel& model = chain.model;
  std::vector<OnnxNode> nodes;
  add(nodes, make_node(model, {.type = "Add", .inputs = {"r", "s"}, .outputs = {"sum"}}));
  const std::vector<OnnxReader> readers = readers_of(model, "r");
  const auto refused = insert_nodes(model, nodes, "r", readers, "sum");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, "'sum' is read by 'mul', which comes before 'gate'");
  const auto place = insert_nodes(model, nodes, "m", readers_of(model, "m"), "sum");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(*place, index(model, "add") - 1);
}

TEST(OnnxEdit, NodesAreTakenOut) {
  Loaded chain = load("chain.onnx");
  OnnxModel& model = chain.model;
  ASSERT_TRUE(remove_node(model, index(model, "r")).ok());
  EXPECT_THAT(names(model.graph.value_infos), ElementsAre("m"));
  ASSERT_TRUE(remove_node(model, index(model, "dead")).ok()) << "nobody reads what it gives";
  ASSERT_TRUE(remove_node(model, index(model, "split")).ok());
  ASSERT_TRUE(remove_node(model, index(model, "add")).ok());
  EXPECT_EQ(listed(model),
            "conv Conv(x,w,b)=c\n"
            "two Constant()=two\n"
            "mul Mul(c,two)=m\n"
            "gate Sigmoid(c)=s\n"
            "add Identity(m)=y\n");
  expect_sound(model);
  const auto refused = remove_node(model, index(model, "two"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, "'two' reads nothing");
  Loaded branches = load("branches.onnx");
  EXPECT_FALSE(remove_node(branches.model, index(branches.model, "first")).ok()) << "two outputs";
}

}  // namespace
}  // namespace plumb::graph
