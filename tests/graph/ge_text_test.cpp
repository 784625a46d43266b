// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/importers.h"
#include "graph/listing.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<Graph> read_ge_text(std::string_view text) { return graph_from_ge_text(as_bytes(text)); }

TEST(GeText, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* name;
    const char* text;
    const char* where;
  };
  const Case cases[] = {
      {"empty", "", "line 1: there is no 'op'"},
      {"no operators", "name: \"g\"\ngraph { }", "there is no 'op'"},
      {"operator is a number", "\n op: 1", "line 2, column 2: 'op' is not a message"},
      {"operator without name", "op { type: \"A\" }", "line 1, column 1: an operator has no name"},
      {"cut in the first operator", "op { name: \"a\"", "the file ends inside the message"},
      {"dim is text", "op { name: \"a\" output_desc { shape { dim: \"x\" } } }",
       "'dim' is not an integer"},
      {"attr is text", "op { name: \"a\" attr: \"x\" }", "'attr' is not a message"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = read_ge_text(c.text);
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().where, HasSubstr(c.where));
    EXPECT_THAT(graph.error().remedy, HasSubstr("DUMP_GE_GRAPH"));
  }
}

TEST(GeText, WholeOperatorsOfACutFileAreKept) {
  const auto graph =
      read_ge_text("op { name: \"a\" type: \"A\" }\nop { name: \"b\" input: \"a:0\"");
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->operators.size(), 1u);
  ASSERT_EQ(graph->warnings.size(), 1u);
  EXPECT_THAT(graph->warnings[0], HasSubstr("line 2, column"));
  EXPECT_THAT(graph->warnings[0], HasSubstr("only what is before it was read, 1 operator"));
}

TEST(GeText, EveryTruncationIsHandled) {
  const std::string whole =
      text_of(std::filesystem::path(PLUMB_TEST_DATA) / "graph/ge_proto_fused.txt");
  const size_t all = read_ge_text(whole)->operators.size();
  for (size_t size = 0; size + 3 < whole.size(); ++size) {
    const auto graph = read_ge_text(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!graph.ok() || !graph->warnings.empty() || graph->operators.size() < all) << size;
  }
}

TEST(GeText, QuantizationAndMultiOp) {
  const auto graph =
      load_graph(std::filesystem::path(PLUMB_TEST_DATA) / "graph/ge_proto_fused.txt");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  const auto by_name = graph->by_name();
  EXPECT_EQ(by_name.at("quant")->quantization->scale, 0.25);
  EXPECT_EQ(by_name.at("quant")->quantization->offset, -10);
  EXPECT_TRUE(by_name.at("conv")->is_multi_op);
  EXPECT_EQ(by_name.at("conv")->l1_group, "3");
  EXPECT_FALSE(by_name.at("conv")->is_inserted());
  EXPECT_TRUE(by_name.at("weights")->is_inserted());
}

TEST(GeText, MemoryIsBoundedByTheFile) {
  std::string text = "op{name:\"a\"} op{name:\"b\" output_desc:[";
  for (int i = 0; i < 100000; ++i) text += "{}";
  const auto graph = read_ge_text(text + "]}");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->operators.size(), 1u);
  EXPECT_THAT(graph->warnings, ElementsAre(HasSubstr("32 times the file's size")));
}

TEST(GeText, ProbeLooksAtContent) {
  EXPECT_TRUE(is_ge_text(as_bytes("name: \"g\"\nop {\n name: \"a")));
  EXPECT_TRUE(is_ge_text(as_bytes("# c\nname: \"m\" version: 3 graph {")));
  EXPECT_TRUE(is_ge_text(as_bytes("name: \"g\" input: \"a:0\" input: \"b:0\" input: \"c")));
  EXPECT_FALSE(is_ge_text(as_bytes("")));
  EXPECT_FALSE(is_ge_text(as_bytes("hello")));
  EXPECT_FALSE(is_ge_text(as_bytes("name: \"g\" input: \"data\" input_dim: 1 layer {")));
  EXPECT_FALSE(is_ge_text(as_bytes("name: \"g\" layer { name")));
}

TEST(GeText, SampleFilesReadAsWithProtobuf) {
  const std::filesystem::path data = std::filesystem::path(PLUMB_TEST_DATA) / "graph";
  for (const char* name : {"ge_proto_fused", "dynamo_original", "dynamo_quirks"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = data / (std::string(name) + ".txt");
    const auto graph = load_graph(path);
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    EXPECT_EQ(graph->format, "ge-text");
    EXPECT_THAT(graph->warnings, IsEmpty());
    EXPECT_EQ(list_graph(*graph), text_of(path.string() + ".expected"));
  }
}

}  // namespace
}  // namespace plumb::graph
