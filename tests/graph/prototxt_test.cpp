// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/importers.h"
#include "graph/listing.h"
#include "graph/model_content.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Graph> read_prototxt(std::string_view text) { return graph_from_prototxt(as_bytes(text)); }

TEST(Prototxt, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* name;
    const char* text;
    const char* where;
  };
  const Case cases[] = {
      {"empty", "", "line 1: there is no 'layer'"},
      {"only a name", "name: \"net\"", "there is no 'layer'"},
      {"layer is text", "layer: \"x\"", "line 1, column 1: 'layer' is not a message"},
      {"cut", "layer {\n name: \"a\"", "line 2, column 11: the file ends inside the message"},
      {"neither name nor top", "\nlayer { type: \"A\" }",
       "line 2, column 1: a layer has neither a name nor a top"},
      {"dim is a word", "input: \"a\" input_dim: x", "'input_dim' is not an integer"},
      {"shape is a number", "input: \"a\" input_shape: 1", "'input_shape' is not a message"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = read_prototxt(c.text);
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().where, HasSubstr(c.where));
    EXPECT_THAT(graph.error().remedy, HasSubstr("deploy.prototxt"));
  }
}

TEST(Prototxt, EveryTruncationIsHandled) {
  const std::string whole = text_of(std::filesystem::path(PLUMB_TEST_DATA) / "graph/net.prototxt");
  const size_t all = read_prototxt(whole)->operators.size();
  for (size_t size = 0; size + 3 < whole.size(); ++size) {
    const auto graph = read_prototxt(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!graph.ok() || graph->operators.size() < all) << size;
  }
}

TEST(Prototxt, OldTypesHaveNewNames) {
  struct Case {
    const char* old;
    const char* now;
  };
  const Case cases[] = {{"CONVOLUTION", "Convolution"},
                        {"INNER_PRODUCT", "InnerProduct"},
                        {"RELU", "ReLU"},
                        {"LRN", "LRN"},
                        {"TANH", "TanH"},
                        {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
                        {"HDF5_DATA", "HDF5Data"},
                        {"SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"}};
  for (const Case& c : cases) {
    const auto graph = read_prototxt(std::string("layers { name: \"a\" type: ") + c.old + " }");
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->operators[0].type, c.now);
  }
}

TEST(Prototxt, BlobsBelongToTheirLastWriter) {
  // A layer that reads what only later layers write, one without a name, a blob written twice.
  const auto graph = read_prototxt(R"(
    layer { name: "a" type: "A" bottom: "later" top: "x" }
    layer { type: "B" bottom: "x" top: "later" top: "y" }
    layer { name: "c" type: "C" top: "x" }
    layer { name: "c" type: "D" bottom: "x" bottom: "y" top: "x" top: "x" }
  )");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  EXPECT_EQ(list_graph(*graph),
            "graph \n"
            "outputs later:0 c:0 c:1\n"
            "operator a A id - in '' from :0\n"
            "  output 'x' - '' - of '' - '' -\n"
            "operator later B id - in '' from a:0\n"
            "  output 'later' - '' - of '' - '' -\n"
            "  output 'y' - '' - of '' - '' -\n"
            "operator c C id - in '' from\n"
            "  output 'x' - '' - of '' - '' -\n"
            "operator c D id - in '' from c:0 later:1\n"
            "  output 'x' - '' - of '' - '' -\n"
            "  output 'x' - '' - of '' - '' -\n");
  EXPECT_THAT(graph->warnings,
              ElementsAre(HasSubstr("1 (the first is 'c'): layers that overwrite their input"),
                          HasSubstr("1 (the first is 'x'): blobs written by several layers"),
                          HasSubstr("1 (the first is 'later'): blobs read by a layer")));
}

// A number that no float holds is not 0, nor another such number.
TEST(Prototxt, ANumberThatIsTooLargeStaysAsItIsWritten) {
  const auto scale_of = [](const std::string& word) {
    const std::string text =
        "layer { name: 'p' type: 'Power' top: 'p' power_param { scale: " + word + " } }";
    const auto content = content_from_caffe(as_bytes(text), {});
    return content ? content->operators.at(0).attributes.at("scale") : AttributeValue();
  };
  EXPECT_EQ(scale_of("0.5"), AttributeValue(0.5));
  EXPECT_EQ(scale_of("1e99"), AttributeValue("1e99"));
  EXPECT_NE(scale_of("1e99"), scale_of("2e99"));
}

TEST(Prototxt, OnlyInputsIsANetwork) {
  const auto graph = read_prototxt("input: \"data\"");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->operators[0].type, "Input");
  EXPECT_FALSE(graph->operators[0].outputs[0].shape);
}

TEST(Prototxt, MemoryIsBoundedByTheFile) {
  std::string text = "layer{name:\"" + std::string(100000, 'n') + "\" top:\"t\"} layer{name:\"r\"";
  for (int i = 0; i < 10000; ++i) text += " bottom:\"t\"";
  const auto graph = read_prototxt(text + "}");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().where, HasSubstr("32 times the file's size"));
}

TEST(Prototxt, ProbeLooksAtContent) {
  EXPECT_TRUE(is_prototxt(as_bytes("name: \"g\"\nlayer {\n name: \"a")));
  EXPECT_TRUE(is_prototxt(as_bytes("layers: {")));
  EXPECT_TRUE(is_prototxt(as_bytes("input: \"data\" input_dim: 1 input_dim")));
  EXPECT_FALSE(is_prototxt(as_bytes("")));
  EXPECT_FALSE(is_prototxt(as_bytes("name: \"g\" op {")));
  EXPECT_FALSE(is_prototxt(as_bytes("{\"layer\": 1}")));
}

TEST(Prototxt, SampleFilesReadAsWithProtobuf) {
  const std::filesystem::path data = std::filesystem::path(PLUMB_TEST_DATA) / "graph";
  for (const char* name : {"net", "old"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = data / (std::string(name) + ".prototxt");
    const auto graph = load_graph(path);
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    EXPECT_EQ(graph->format, "prototxt");
    EXPECT_EQ(list_graph(*graph), text_of(path.string() + ".expected"));
  }
  EXPECT_THAT(load_graph(data / "net.prototxt")->warnings,
              ElementsAre(HasSubstr("3 (the first is 'bn1'): layers that overwrite"),
                          "2 (the first is 'labels'): layers for training only, left out"));
}

}  // namespace
}  // namespace plumb::graph
