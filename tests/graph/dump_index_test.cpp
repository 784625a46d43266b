// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/importers.h"
#include "graph/readers.h"
#include "listing.h"

namespace plumb::graph {
namespace {

const std::filesystem::path kIndex =
    std::filesystem::path(PLUMB_TEST_DATA) / "dump_index" / "fused.json";

TEST(DumpIndex, IsTheGraphAsItWasRun) {
  const auto graph = load_graph(kIndex);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->format, "plumb-dump");
  EXPECT_EQ(list_graph(*graph), R"(graph net.onnx
outputs fused_conv:0
operator data Data id - in '' from
  output 'data' float32 '' [1, 2] of '' - '' -
operator fused_conv FusedConv id - in '' from data:0
  origins [conv, relu]
  output 'r' float32 '' [1, 2] of 'relu' 0 '' -
operator list SplitToSequence id - in '' from fused_conv:0
  output 'l' - '' - of '' - '' -
)");
}

// What the model says of itself; an engine may store wider numbers.
TEST(DumpIndex, TellsThePrecisionOfAnOperator) {
  const struct {
    const char* word;
    std::optional<DType> narrow;
  } cases[] = {{"float16", DType::kFloat16},
               {"bfloat16", DType::kBFloat16},
               {"float32", std::nullopt},
               {"coarse", std::nullopt},
               {"", std::nullopt}};
  for (const auto& one : cases) {
    const std::string text = fmt::format(
        R"({{"schema":"plumb.dump/1","operators":[{{"name":"c","type":"Cast","precision":"{}"}}]}})",
        one.word);
    const auto graph = graph_from_dump_index(as_bytes(std::string_view(text)));
    ASSERT_TRUE(graph) << one.word;
    EXPECT_EQ(graph->operators.front().narrow, one.narrow) << one.word;
  }
}

TEST(DumpIndex, DamagedOnesSayWhere) {
  const std::string whole = text_of(kIndex);
  for (size_t size = 0; size < whole.size() - 2; ++size)
    EXPECT_FALSE(graph_from_dump_index(as_bytes(std::string_view(whole).substr(0, size)))) << size;
  const struct {
    const char* text;
    const char* what;
  } cases[] = {
      {R"({"schema":"plumb.dump/2"})", "the index of the dump is of another version"},
      {R"({"schema":"plumb.dump/1"})", "the index of the dump names no operators"},
      {R"({"schema":"plumb.dump/1","operators":7})", "the index of the dump names no operators"},
      {R"(["plumb.dump/1"])", "the index of the dump is of another version"},
  };
  for (const auto& one : cases) {
    const auto graph = graph_from_dump_index(as_bytes(std::string_view(one.text)));
    ASSERT_FALSE(graph) << one.text;
    EXPECT_EQ(graph.error().what, one.what);
  }
  std::string many = R"({"schema":"plumb.dump/1","operators":[)";
  for (int i = 0; i < 100'000; ++i) many += "0,";
  EXPECT_EQ(graph_from_dump_index(as_bytes(many + "0]}")).error().what,
            "the index of the dump is damaged");
}

}  // namespace
}  // namespace plumb::graph
