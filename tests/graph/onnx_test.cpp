// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "graph/importers.h"
#include "graph/onnx_files.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Graph> read_onnx_graph(std::string_view bytes) { return graph_from_onnx(as_bytes(bytes)); }

TEST(OnnxGraph, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* name;
    std::string bytes;
    const char* where;
  };
  const Case cases[] = {
      {"empty", "", "byte 0: there is no graph"},
      {"version only", "\x08\x08", "byte 0: there is no graph"},
      {"graph is a number", "\x08\x08\x38\x01", "byte 2: field 7 is not a message"},
      {"graph longer than the file", "\x08\x08\x3a\x05\x0a",
       "byte 2: field 7 needs 5 bytes, 1 are left"},
      {"node longer than the graph", "\x3a\x02\x0a\x7f", "byte 2: field 1 needs 127 bytes"},
      {"node is a number", "\x3a\x02\x08\x01", "byte 2: field 1 is not a message"},
      {"name is a number", "\x3a\x04\x0a\x02\x18\x01", "byte 4: field 3 is not text"},
      {"field number 0", std::string("\x3a\x02\x00\x01", 4), "byte 2: field number 0"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = read_onnx_graph(c.bytes);
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().where, HasSubstr(c.where));
    EXPECT_THAT(graph.error().remedy, HasSubstr("export the model again"));
  }
}

TEST(OnnxGraph, EveryTruncationIsRefused) {
  const std::string whole = text_of(kGraphs / "odd.onnx");
  const size_t graph_ends = whole.size() - 4;  // the version of the operator set follows
  for (size_t size = 0; size < graph_ends; ++size)
    EXPECT_FALSE(read_onnx_graph(std::string_view(whole).substr(0, size)).ok()) << size;
}

TEST(OnnxGraph, NodesWithoutNames) {
  ProtoWriter graph;
  graph.message(1, node_of("", "Relu", {}, {"y"}));
  graph.message(1, node_of("", "Sink", {"y"}, {}));
  graph.message(1, node_of("", "Split", {}, {"", "z"}));
  graph.message(1, ProtoWriter());
  const auto read_back = read_onnx_graph(model_of(graph));
  ASSERT_TRUE(read_back.ok()) << read_back.error().where;
  std::vector<std::string> names;
  for (const Operator& op : read_back->operators) names.push_back(op.name);
  EXPECT_THAT(names, ElementsAre("y", "Sink_1", "z", "_3"));
}

TEST(OnnxGraph, CyclesRepeatedAndUnknownTensorsDoNoHarm) {
  ProtoWriter graph;
  graph.message(1, node_of("a", "A", {"y", "x", "nothing"}, {"x"}));  // reads what it and b write
  graph.message(1, node_of("b", "B", {"x"}, {"y", "x"}));
  const auto read_back = read_onnx_graph(model_of(graph));
  ASSERT_TRUE(read_back.ok());
  EXPECT_EQ(list_edges(read_back->operators[0].inputs), " b:0 a:0 :0");
  EXPECT_THAT(
      read_back->warnings,
      ElementsAre("1 (the first is 'x'): tensors with several producers; the first is taken",
                  "1 (the first is 'nothing'): tensors that are read, but that nothing "
                  "produces"));
}

TEST(OnnxGraph, DepthIsBounded) {
  const ProtoWriter leaf = node_of("leaf", "Relu", {}, {"y"});
  const auto deep = read_onnx_graph(nested_model(leaf, 32));
  ASSERT_TRUE(deep.ok()) << deep.error().where;
  EXPECT_EQ(deep->operators.size(), 33u);
  EXPECT_THAT(deep->operators[2].subgraph, "n.b/n.b");
  EXPECT_THAT(read_onnx_graph(nested_model(leaf, 33)).error().where,
              HasSubstr("nested more than 32 deep"));
}

TEST(OnnxGraph, MemoryIsBoundedByTheFile) {
  ProtoWriter nodes, edges, copies;
  for (int i = 0; i < 100000; ++i) nodes.message(1, ProtoWriter());
  EXPECT_THAT(read_onnx_graph(model_of(nodes)).error().where,
              HasSubstr("32 times the file's size"));

  edges.message(1, node_of(std::string(100000, 'n'), "A", {}, {"x"}));
  for (int i = 0; i < 5000; ++i) edges.message(1, node_of("r", "R", {"x"}, {}));
  EXPECT_THAT(read_onnx_graph(model_of(edges)).error().where,
              HasSubstr("32 times the file's size"));
}

TEST(OnnxGraph, ProbeLooksAtContent) {
  const std::string whole = text_of(kGraphs / "odd.onnx");
  EXPECT_TRUE(is_onnx(as_bytes(whole)));
  EXPECT_TRUE(is_onnx(as_bytes(whole).first(100)));
  EXPECT_FALSE(is_onnx(as_bytes("")));
  EXPECT_FALSE(is_onnx(as_bytes("{\"graph\": []}")));
  EXPECT_FALSE(is_onnx(as_bytes(std::string_view("\x08\x02\x10\x01\x4a\x08", 6))));  // a tensor
}

TEST(OnnxGraph, SampleReadsAsWithPython) {
  const auto graph = load_graph(kGraphs / "odd.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  EXPECT_EQ(graph->format, "onnx");
  EXPECT_THAT(graph->warnings, IsEmpty());
  EXPECT_EQ(list_graph(*graph), text_of(kGraphs / "odd.onnx.expected"));
}

// Every model below a folder, against Python's onnx.
void compare_models(const std::filesystem::path& folder) {
  Scratch scratch;
  const std::string command = "/usr/bin/python3 " + (kGraphs / "make_expected.py").string() + " '" +
                              folder.string() + "' '" + scratch.path().string() + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "needs /usr/bin/python3 with onnx";
  size_t models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    std::string name = entry.path().lexically_relative(folder).string();
    std::replace(name.begin(), name.end(), '/', '+');
    const auto graph = load_graph(entry.path());
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().where;
    EXPECT_EQ(list_graph(*graph), text_of(scratch.path() / (name + ".expected"))) << name;
    ++models;
  }
  EXPECT_GT(models, 0u);
}

TEST(OnnxGraph, ModelsOfTheStandardReadAsWithPython) {
  const std::filesystem::path folder = "/usr/share/libonnx-testdata";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs libonnx-testdata";
  compare_models(folder);
}

TEST(OnnxGraph, RealModelsReadAsWithPython) {
  const char* folder = std::getenv("PLUMB_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "set PLUMB_MODELS to a folder with .onnx files";
  compare_models(folder);
}

}  // namespace
}  // namespace plumb::graph
