// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_model.h"

#include "graph/onnx_files.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Result<OnnxModel> read_model(std::string_view bytes) { return read_onnx(as_bytes(bytes)); }

TEST(OnnxModel, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* name;
    std::string bytes;
    const char* where;
  };
  const Case cases[] = {
      {"empty", "", "byte 0: there is no graph"},
      {"graph is a number", "\x08\x08\x38\x01", "byte 2: field 7 is not a message"},
      {"graph longer than the file", "\x08\x08\x3a\x05\x0a", "field 7 needs 5 bytes, 1 are left"},
      {"node is a number", "\x3a\x02\x08\x01", "byte 2: field 1 is not a message"},
      {"name is a number", "\x3a\x04\x0a\x02\x18\x01", "byte 4: field 3 is not text"},
      {"initializer is cut off", "\x3a\x04\x2a\x02\x4a\x07", "byte 4: field 9 needs 7 bytes"},
      {"shape is a number", "\x3a\x08\x5a\x06\x12\x04\x0a\x02\x10\x01", "field 2 is not a message"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto read_back = read_model(c.bytes);
    ASSERT_FALSE(read_back.ok());
    EXPECT_THAT(read_back.error().where, HasSubstr(c.where));
  }
}

TEST(OnnxModel, EveryTruncationIsRefused) {
  for (const char* file : {"branches.onnx", "external.onnx"}) {
    const std::string whole = text_of(kModels / file);
    const size_t graph_ends = whole.size() - 6;  // the version of the operator set follows
    for (size_t size = 0; size < graph_ends; ++size)
      EXPECT_FALSE(read_model(std::string_view(whole).substr(0, size)).ok()) << size;
  }
}

// Fields move, none is lost: the size stays, and so does what the other reader sees.
TEST(OnnxModel, WrittenModelIsTheOneRead) {
  for (const auto& path : {kModels / "chain.onnx", kModels / "branches.onnx", kModels / "loop.onnx",
                           kModels / "external.onnx", kModels / "odd.onnx", kGraphs / "odd.onnx"}) {
    SCOPED_TRACE(path);
    const std::string file = text_of(path);
    const auto first = read_model(file);
    ASSERT_TRUE(first.ok()) << first.error().where;
    const std::string written = write_onnx(*first);
    const auto second = read_model(written);
    ASSERT_TRUE(second.ok()) << second.error().where;
    EXPECT_EQ(write_onnx(*second), written);
    EXPECT_EQ(names(second->graph.nodes), names(first->graph.nodes));
    if (path != kModels / "odd.onnx") {  // its graph was in two pieces
      EXPECT_EQ(written.size(), file.size());
    }
    EXPECT_EQ(list_graph(*graph_from_onnx(as_bytes(written))),
              list_graph(*graph_from_onnx(as_bytes(file))));
  }
}

TEST(OnnxModel, PartsOfAModel) {
  const std::string file = text_of(kModels / "chain.onnx");
  const auto chain = read_model(file);
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(chain->ir_version, 3);
  ASSERT_EQ(opsets_of(*chain).size(), 1u);
  EXPECT_EQ(opsets_of(*chain)[0].domain, "");
  EXPECT_EQ(opsets_of(*chain)[0].version, 11);
  const OnnxGraph& graph = chain->graph;
  EXPECT_EQ(graph.name, "chain");
  EXPECT_THAT(names(graph.nodes),
              ElementsAre("conv", "r", "two", "mul", "gate", "add", "split", "dead"));
  EXPECT_EQ(graph.nodes[0].type, "Conv");
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("x", "w", "b"));
  EXPECT_THAT(graph.nodes[6].outputs, ElementsAre("left", "right"));
  EXPECT_THAT(names(graph.inputs), ElementsAre("x", "w", "b"));
  EXPECT_EQ(graph.inputs[0].type.dtype, DType::kFloat32);
  EXPECT_EQ(graph.inputs[0].type.shape, (Shape{-1, 1, 4, 4}));
  EXPECT_THAT(names(graph.initializers), ElementsAre("w", "b"));
  EXPECT_THAT(names(graph.value_infos), ElementsAre("r", "m"));
  EXPECT_FALSE(chain->is_external());
}

TEST(OnnxModel, GraphInSeveralPiecesIsOne) {
  const std::string file = text_of(kModels / "odd.onnx");
  const auto odd = read_model(file);
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->graph.name, "renamed");
  EXPECT_THAT(names(odd->graph.nodes),
              ElementsAre("conv", "r", "two", "mul", "gate", "add", "split", "dead"));
  EXPECT_THAT(names(odd->graph.initializers), ElementsAre("w", "b", "sparse"));
  EXPECT_TRUE(odd->graph.initializers[2].is_sparse);
  const auto graph = graph_from_onnx(as_bytes(file));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->operators.size(), 9u) << "its input and the nodes";
  EXPECT_EQ(odd->graph.value_infos.back().type.dtype, std::nullopt) << "a sequence";
}

TEST(OnnxModel, BodiesTellWhatTheyReadFromOutside) {
  const std::string file = text_of(kModels / "branches.onnx");
  const auto branches = read_model(file);
  ASSERT_TRUE(branches.ok());
  const OnnxNode& node = branches->graph.nodes[1];
  ASSERT_EQ(node.bodies.size(), 2u);
  EXPECT_EQ(node.bodies[1].attribute, "then_branch");
  EXPECT_THAT(names(node.bodies[1].graph.nodes), ElementsAre("n", "second"));
  EXPECT_THAT(node.inputs, ElementsAre("flag"));
  // x and flag2; t is defined in the branch around the inner If, k is an initializer of it.
  EXPECT_THAT(node.captures, UnorderedElementsAre("x", "flag2"));
  EXPECT_THAT(branches->graph.nodes[0].captures, IsEmpty());

  const std::string loop_file = text_of(kModels / "loop.onnx");
  EXPECT_THAT(read_model(loop_file)->graph.nodes[0].captures, ElementsAre("step"));
}

TEST(OnnxModel, ExternalDataAreSeen) {
  const std::string file = text_of(kModels / "external.onnx");
  const auto external = read_model(file);
  ASSERT_TRUE(external.ok());
  EXPECT_TRUE(external->is_external());
  EXPECT_TRUE(external->graph.initializers[0].is_external);
  EXPECT_TRUE(external->graph.nodes[0].is_external) << "in its body";
  EXPECT_FALSE(external->graph.nodes[1].is_external);

  // What was said of a file does not count once the data are inside.
  ProtoWriter graph, tensor;
  tensor.message(13, ProtoWriter());
  tensor.text(8, "w");
  graph.message(5, tensor);
  const std::string inside = model_of(graph);
  EXPECT_FALSE(read_model(inside)->is_external());
}

TEST(OnnxModel, NodesAreNamedAsInTheGraph) {
  ProtoWriter graph, input;
  input.text(1, "x");
  graph.message(11, input);
  ProtoWriter weight, output;  // a weight that is given out is an operator, too
  weight.text(8, "w");
  output.text(1, "w");
  graph.message(5, weight);
  graph.message(12, output);
  graph.message(1, node_of("", "Relu", {"x"}, {"y"}));
  graph.message(1, node_of("", "Sink", {"y"}, {}));
  graph.message(1, node_of("", "Split", {}, {"", "z"}));
  graph.message(1, node_of("", "", {"", "z"}, {}));
  const std::string file = model_of(graph);
  const auto read_back = read_model(file);
  ASSERT_TRUE(read_back.ok()) << read_back.error().where;
  EXPECT_THAT(names(read_back->graph.nodes), ElementsAre("y", "Sink_3", "z", "_5"));
  std::vector<std::string> operators = names(graph_from_onnx(as_bytes(file))->operators);
  operators.erase(operators.begin(), operators.begin() + 2);  // the input and the weight
  EXPECT_EQ(names(read_back->graph.nodes), operators);
  EXPECT_THAT(read_back->graph.nodes[3].inputs, ElementsAre("", "z"));
}

TEST(OnnxModel, DepthIsBounded) {
  const ProtoWriter leaf = node_of("leaf", "Relu", {"far"}, {"y"});
  const std::string deep = nested_model(leaf, 32);
  const auto read_back = read_model(deep);
  ASSERT_TRUE(read_back.ok()) << read_back.error().where;
  EXPECT_THAT(read_back->graph.nodes[0].captures, ElementsAre("far"));
  EXPECT_THAT(read_model(nested_model(leaf, 33)).error().where,
              HasSubstr("nested more than 32 deep"));
}

TEST(OnnxModel, MemoryIsBoundedByTheFile) {
  ProtoWriter nodes, inputs;
  for (int i = 0; i < 100000; ++i) nodes.message(1, ProtoWriter());
  EXPECT_THAT(read_model(model_of(nodes)).error().where, HasSubstr("32 times the file's size"));

  ProtoWriter greedy;
  for (int i = 0; i < 100000; ++i) greedy.message(1, Bytes());
  inputs.message(1, greedy);
  EXPECT_THAT(read_model(model_of(inputs)).error().where, HasSubstr("32 times the file's size"));
}

}  // namespace
}  // namespace plumb::graph
