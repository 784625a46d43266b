// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/importers.h"
#include "graph/listing.h"
#include "graph/readers.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string with_operators(std::string_view operators) {
  return R"({"name":"m","graph":[{"name":"g","op":[)" + std::string(operators) + "]}]}";
}

Result<Graph> read_ge_json(std::string_view text) { return graph_from_ge_json(as_bytes(text)); }

struct RefusedText {
  const char* name;
  std::string text;
  const char* where;
};

TEST(GeJson, SaysWhatIsWrongAndWhere) {
  const RefusedText cases[] = {
      {"empty", "", "byte 0 of 0: "},
      {"blank", "  \n", "byte 0 of 3: "},
      {"not an object", "[1]", "byte 0: "},
      {"no graph", R"({"name":"m"})", "the model has no \"graph\""},
      {"graph is text", R"({"graph":"x"})", "byte 9: \"graph\" is not a list"},
      {"graph of numbers", R"({"graph":[1]})", "byte 10: \"graph\" is not an object"},
      {"no op", R"({"graph":[{"name":"g"}]})", "a graph has no \"op\""},
      {"op is an object", R"({"graph":[{"op":{}}]})", "byte 16: \"op\" is not a list"},
      {"op of nulls", R"({"graph":[{"op":[null]}]})", "byte 17: \"op\" is not an object"},
      {"operator without name", with_operators(R"({"type":"A"})"), "has no \"name\""},
      {"operator without type", with_operators(R"({"name":"a"})"),
       "operator 'a': an operator has no \"type\""},
      {"name is a number", with_operators(R"({"name":7,"type":"A"})"),
       "byte 47: operator number 1: \"name\" is not text"},
      {"type is null", with_operators(R"({"name":"a","type":null})"),
       "operator 'a': \"type\" is not text"},
      {"id is text", with_operators(R"({"name":"a","type":"A","id":"x"})"),
       "\"id\" is not an integer"},
      {"id is too large", with_operators(R"({"name":"a","type":"A","id":99999999999999999999})"),
       "\"id\" is not an integer"},
      {"input is text", with_operators(R"({"name":"a","type":"A","input":"b:0"})"),
       "\"input\" is not a list"},
      {"input of numbers", with_operators(R"({"name":"a","type":"A","input":[1]})"),
       "\"input\" is not text"},
      {"attr is an object", with_operators(R"({"name":"a","type":"A","attr":{}})"),
       "\"attr\" is not a list"},
      {"attribute without key", with_operators(R"({"name":"a","type":"A","attr":[{"value":{}}]})"),
       "an attribute has no \"key\""},
      {"origins are text", with_operators(R"({"name":"a","type":"A","attr":[
         {"key":"_datadump_original_op_names","value":{"list":{"s":"x"}}}]})"),
       "\"s\" is not a list"},
      {"output_desc of text", with_operators(R"({"name":"a","type":"A","output_desc":["x"]})"),
       "\"output_desc\" is not an object"},
      {"cut inside a name", R"({"graph":[{"op":[{"name":"con)", "byte 29 of 29: "},
      {"cut between members", R"({"graph":[{"op":[{"name":"a",)", "byte "},
      {"text after the model", R"({"graph":[]} {"graph":[]})",
       "byte 13: text after the end of the model"},
      {"not utf-8", "{\"graph\":[],\"x\":\"\xff\"}", "UTF-8"},
  };
  for (const RefusedText& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = read_ge_json(c.text);
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().where, HasSubstr(c.where)) << graph.error().what;
    EXPECT_THAT(graph.error().remedy, HasSubstr("atc --mode=1"));
  }
}

TEST(GeJson, EveryTruncationIsRefused) {
  const std::string whole = with_operators(
      R"({"name":"a","type":"A","id":1,"input":["b:0"],"attr":[{"key":"scale","value":{"f":1.5}}],)"
      R"("output_desc":[{"shape":{"dim":[1,2]},"attr":[]}]})");
  ASSERT_TRUE(read_ge_json(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_ge_json(whole.substr(0, size)).ok()) << size;
}

TEST(GeJson, EmptyGraphsAreGraphs) {
  EXPECT_THAT(read_ge_json(R"({"graph":[]})")->operators, IsEmpty());
  EXPECT_THAT(read_ge_json(R"({"graph":[{"op":[]}]})")->operators, IsEmpty());
  EXPECT_EQ(read_ge_json("\xEF\xBB\xBF"
                         R"({"name":"m","graph":[]})")
                ->name,
            "m");
}

TEST(GeJson, OriginsTellInsertedFromUnrecorded) {
  struct Case {
    const char* name;
    const char* attributes;
    std::optional<std::vector<std::string>> origins;
    bool is_inserted;
  };
  using Names = std::vector<std::string>;
  const Case cases[] = {
      {"no attributes", "", std::nullopt, false},
      {"other attributes", R"({"key":"x","value":{"i":1}})", std::nullopt, false},
      {"no value", R"({"key":"_datadump_original_op_names"})", Names{}, true},
      {"empty value", R"({"key":"_datadump_original_op_names","value":{}})", Names{}, true},
      {"list without s", R"({"key":"_datadump_original_op_names","value":{"list":{"val_type":1}}})",
       Names{}, true},
      {"empty s", R"({"key":"_datadump_original_op_names","value":{"list":{"s":[]}}})", Names{},
       true},
      {"one empty name", R"({"key":"_datadump_original_op_names","value":{"list":{"s":[""]}}})",
       Names{""}, true},
      {"two names", R"({"key":"_datadump_original_op_names","value":{"list":{"s":["a","b"]}}})",
       Names{"a", "b"}, false},
      {"value first", R"({"value":{"list":{"s":["a"]}},"key":"_datadump_original_op_names"})",
       Names{"a"}, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = read_ge_json(
        with_operators(R"({"name":"x","type":"X","attr":[)" + std::string(c.attributes) + "]}"));
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    EXPECT_EQ(graph->operators[0].origins, c.origins);
    EXPECT_EQ(graph->operators[0].is_inserted(), c.is_inserted);
  }
}

TEST(GeJson, InputsAreEdgesWithoutControl) {
  struct Case {
    const char* input;
    const char* producer;  // nullptr: dropped
    int64_t output;
  };
  const Case cases[] = {
      {"", nullptr, 0},
      {"a:-1", nullptr, 0},
      {"a:0", "a", 0},
      {"a:12", "a", 12},
      {"scope/a:b:3", "scope/a:b", 3},
      {"a_lxslice12:1", "a", 1},
      {"a_lxslice0_lxslice3_b:1", "a_b", 1},
      {"a_lxslice:1", "a_lxslice", 1},
      {"a", "", 0},  // malformed from here on
      {"a:", "", 0},
      {":0", "", 0},
      {"a:x", "", 0},
      {"a:-2", "", 0},
      {"a:+2", "", 0},
      {"a:1 ", "", 0},
      {"a:99999999999999999999", "", 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.input);
    const auto graph = read_ge_json(with_operators(R"({"input":[")" + std::string(c.input) +
                                                   R"(","last:7"],"name":"reader","type":"X"})"));
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    const std::vector<Edge>& inputs = graph->operators[0].inputs;
    ASSERT_EQ(inputs.size(), c.producer == nullptr ? 1u : 2u);
    EXPECT_EQ(inputs.back().producer, "last");
    EXPECT_EQ(inputs.back().output, 7);
    const bool is_malformed = c.producer != nullptr && *c.producer == '\0';
    ASSERT_EQ(graph->warnings.size(), is_malformed ? 1u : 0u);
    if (is_malformed) {
      EXPECT_EQ(graph->warnings[0], "operator 'reader': input '" + std::string(c.input) +
                                        "' is not written as producer:output");
    }
    if (c.producer == nullptr) continue;
    EXPECT_EQ(inputs[0].producer, c.producer);
    EXPECT_EQ(inputs[0].output, c.output);
  }
}

TEST(GeJson, OneWarningPerOperator) {
  const auto graph =
      read_ge_json(with_operators(R"({"name":"a","type":"A","input":["x","y","z"]})"));
  EXPECT_THAT(
      graph->warnings,
      ElementsAre("operator 'a': input 'x' is not written as producer:output, like 2 more"));
}

TEST(GeJson, OutputsKeepEverythingSaid) {
  const auto graph = read_ge_json(with_operators(R"(
    {"name":"conv_lxslice3","type":"Conv2D","id":"17","attr":[
       {"key":"_datadump_is_multiop","value":{"b":true}},
       {"key":"_L1_fusion_sub_graph_no","value":{"s":"5"}}],
     "output_desc":[
       {},
       {"dtype":"DT_FLOAT16","layout":"NC1HWC0","shape":{"dim":[1,4,7,7,16]},"attr":[
          {"key":"origin_format","value":{"s":"NHWC"}},
          {"key":"_datadump_origin_name","value":{"s":"relu"}},
          {"key":"_datadump_origin_output_index","value":{"i":2}},
          {"key":"_datadump_origin_format","value":{"s":"NCHW"}},
          {"key":"origin_shape","value":{"list":{"val_type":2,"i":[1,64,7,7]}}}]},
       {"dtype":"DT_BF16","shape":[-1,3],"attr":[
          {"key":"origin_format","value":{"s":"ND"}},
          {"key":"origin_shape","value":{"list":{"val_type":2}}}]},
       {"dtype":"DT_STRING","layout":4,"shape":"?","attr":[]},
       {"dtype":"DT_INT4","shape":{}}]})"));
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  const Operator& op = graph->operators[0];
  EXPECT_EQ(op.name, "conv");
  EXPECT_EQ(op.id, 17);
  EXPECT_TRUE(op.is_multi_op);
  EXPECT_EQ(op.l1_group, "5");
  EXPECT_EQ(op.subgraph, "");
  ASSERT_EQ(op.outputs.size(), 5u);
  EXPECT_FALSE(op.outputs[0].has_attributes);
  EXPECT_FALSE(op.outputs[0].dtype || op.outputs[0].shape || op.outputs[0].origin_output);
  const Output& second = op.outputs[1];
  EXPECT_EQ(second.dtype, DType::kFloat16);
  EXPECT_EQ(second.layout, "NC1HWC0");
  EXPECT_EQ(second.shape, (Shape{1, 4, 7, 7, 16}));
  EXPECT_EQ(second.origin, "relu");
  EXPECT_EQ(second.origin_output, 2);
  EXPECT_EQ(second.origin_layout, "NCHW");
  EXPECT_EQ(second.origin_shape, (Shape{1, 64, 7, 7}));
  EXPECT_TRUE(second.has_attributes);
  EXPECT_EQ(op.outputs[2].dtype, DType::kBFloat16);
  EXPECT_EQ(op.outputs[2].shape, (Shape{-1, 3}));
  EXPECT_EQ(op.outputs[2].origin_layout, "ND");
  EXPECT_EQ(op.outputs[2].origin_shape, Shape{});
  EXPECT_FALSE(op.outputs[3].dtype || op.outputs[3].shape);
  EXPECT_TRUE(op.outputs[3].has_attributes);
  EXPECT_EQ(op.outputs[4].dtype, DType::kInt4);
  EXPECT_EQ(op.outputs[4].shape, Shape{});
}

TEST(GeJson, QuantizationOfAscendQuantOnly) {
  const auto read_one = [](std::string_view type, std::string_view attributes) {
    return read_ge_json(with_operators(R"({"attr":[)" + std::string(attributes) +
                                       R"(],"name":"q","type":")" + std::string(type) + R"("})"))
        ->operators[0]
        .quantization;
  };
  const char* scale = R"({"key":"scale","value":{"f":4}},{"key":"offset","value":{"f":-3.5}})";
  const char* twice = R"({"key":"scale","value":{"f":4}},{"key":"sqrt_mode","value":{"b":true}})";
  EXPECT_FALSE(read_one("Conv2D", scale));
  EXPECT_FALSE(read_one("AscendQuant", ""));
  EXPECT_FALSE(read_one("AscendQuant", R"({"key":"scale","value":{"f":null}})"));
  // Newer versions of atc write a single float as text, and what is not finite by its name.
  const char* as_text =
      R"({"key":"scale","value":{"f":"0.0078125"}},{"key":"offset","value":{"f":"-3e-05"}})";
  EXPECT_EQ(read_one("AscendQuant", as_text)->scale, 0.0078125);
  EXPECT_EQ(read_one("AscendQuant", as_text)->offset, -3e-5);
  for (const char* none : {"inf", "-nan", "", "1.5x", "x"})
    EXPECT_FALSE(
        read_one("AscendQuant", R"({"key":"scale","value":{"f":")" + std::string(none) + R"("}})"))
        << none;
  EXPECT_EQ(read_one("AscendQuant", scale)->scale, 4);
  EXPECT_EQ(read_one("AscendQuant", scale)->offset, -3.5);
  EXPECT_EQ(read_one("AscendQuant", twice)->scale, 16);
  EXPECT_EQ(read_one("AscendQuant", twice)->offset, 0);
}

// As newer versions of atc write single strings; those in lists stay as they are. What no escape
// has made is a plain string of an older version.
TEST(GeJson, SingleStringsAreEscapedByNewerVersions) {
  struct Case {
    const char* written;  // in JSON, where a backslash is two
    const char* meant;
  };
  const Case cases[] = {
      {R"(relu)", "relu"},
      {R"(\\345\\210\\207\\345\\210\\206)", "\xE5\x88\x87\xE5\x88\x86"},
      {R"(\u5207\u5206)", "\xE5\x88\x87\xE5\x88\x86"},  // older: plain
      {R"(a\\\"b\\'c\\\\d\\ne)", "a\"b'c\\d\ne"},
      {R"(\u5207\\345\\210\\207)", "\xE5\x88\x87\\345\\210\\207"},  // plain: not all is ASCII
      {R"(a\"b\\n)", "a\"b\\n"},                                    // plain: a bare quote
      {R"(net\\block)", "net\\block"},                              // no such escape
      {R"(net\\400)", "net\\400"},                                  // no such byte
      {R"(net\\12)", "net\\12"},
      {R"(net\\)", "net\\"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.written);
    const auto graph = read_ge_json(with_operators(
        R"({"name":"x","type":"X","output_desc":[{"attr":[{"key":"_datadump_origin_name","value":{"s":")" +
        std::string(c.written) + R"("}}]}]})"));
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    EXPECT_EQ(graph->operators[0].outputs[0].origin, c.meant);
  }
}

TEST(GeJson, AnOutputThatSaysNothingIsNull) {
  const auto graph = read_ge_json(
      with_operators(R"({"name":"x","type":"X","output_desc":[null,{"layout":"ND"},null]})"));
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  ASSERT_EQ(graph->operators[0].outputs.size(), 3u);
  EXPECT_EQ(graph->operators[0].outputs[1].layout, "ND");
}

TEST(GeJson, PropertiesSayHowTheModelWasMade) {
  const auto graph = read_ge_json(R"({"attr":[{"key":"soc_version","value":{"s":"Ascend310"}},7,
    {"key":"om_info_list","value":{"list":{"i":[1]}}},{"key":"atc_cmdline","value":{"s":"atc x"}},
    {"key":"atc_version","value":{"s":"1.82"}},{"key":"opp_version"}],"graph":[]})");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  EXPECT_THAT(graph->properties, ElementsAre(testing::Pair("atc_version", "1.82"),
                                             testing::Pair("soc_version", "Ascend310")));
  EXPECT_EQ(graph->command_line, "atc x");
}

TEST(GeJson, SeveralGraphsNameTheirOperatorsPlace) {
  const auto graph = read_ge_json(R"({"graph":[
    {"op":[{"name":"a","type":"A"},{"name":"out","type":"NetOutput","input":["a:1","c:-1"]}],
     "name":"root"},
    {"name":"body","op":[{"name":"b","type":"B"},
                         {"name":"end","type":"NetOutput","input":["b:0"]}]}]})");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  ASSERT_EQ(graph->operators.size(), 4u);
  EXPECT_EQ(graph->operators[0].subgraph, "root");
  EXPECT_EQ(graph->operators[3].subgraph, "body");
  ASSERT_EQ(graph->outputs.size(), 1u);  // what leaves the body is not an output of the model
  EXPECT_EQ(graph->outputs[0].producer, "a");
  EXPECT_EQ(graph->outputs[0].output, 1);
}

// A call is never dumped: what it gives out is an operator's in the graph that it runs. Of an If
// nobody knows which branch was taken, and a damaged file may lead in circles.
TEST(GeJson, OutputsOfCallsAreThoseOfTheGraphsTheyRun) {
  const auto graph = read_ge_json(R"({"name":"m","graph":[
    {"name":"root","op":[
      {"name":"call","type":"PartitionedCall","subgraph_name":["one"]},
      {"name":"if","type":"If","subgraph_name":["then","one"]},
      {"name":"round","type":"PartitionedCall","subgraph_name":["circle"]},
      {"name":"lost","type":"PartitionedCall","subgraph_name":["nowhere"]},
      {"name":"out","type":"NetOutput","input":["call:1","call:0","if:0","lost:0","call:7","round:0"]}]},
    {"name":"one","op":[
      {"name":"a","type":"A"},
      {"name":"inner","type":"PartitionedCall","subgraph_name":["two"]},
      {"name":"one_out","type":"NetOutput","input":["a:3","inner:0","a:-1"]}]},
    {"name":"two","op":[{"name":"b","type":"B"},
                        {"name":"two_out","type":"NetOutput","input":["b:0"]}]},
    {"name":"circle","op":[{"name":"circle_out","type":"NetOutput","input":["round:0"]}]}]})");
  ASSERT_TRUE(graph);
  std::vector<std::string> outputs;
  for (const Edge& edge : graph->outputs)
    outputs.push_back(edge.producer + ":" + std::to_string(edge.output));
  EXPECT_THAT(outputs, ElementsAre("b:0", "a:3", "if:0", "lost:0", "call:7", "round:0"));
}

TEST(GeJson, CyclesAndRepeatedNamesDoNoHarm) {
  const auto graph = read_ge_json(with_operators(
      R"({"name":"a","type":"A","input":["a:0","b:0"]},{"name":"b","type":"B","input":["a:0"]},)"
      R"({"name":"a","type":"C"})"));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->by_name().at("a")->type, "A");
}

TEST(GeJson, MemoryIsBoundedByTheFile) {
  std::string outputs;
  for (int i = 0; i < 100000; ++i) outputs += "{},";
  const auto many = read_ge_json(
      with_operators(R"({"name":"a","type":"A","output_desc":[)" + outputs + R"({}]})"));
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().where, HasSubstr("32 times the file's size"));

  std::string operators;
  for (int i = 0; i < 2000; ++i) operators += R"({"name":"","type":""},)";
  const auto long_name =
      read_ge_json(R"({"graph":[{"op":[]},{"name":")" + std::string(200000, 'n') + R"(","op":[)" +
                   operators + R"({"name":"","type":""}]}]})");
  EXPECT_FALSE(long_name.ok());
}

TEST(GeJson, ProbeLooksAtContent) {
  EXPECT_TRUE(is_ge_json(as_bytes(" \n{ \"name\": \"m\", \"graph\": [")));
  EXPECT_TRUE(is_ge_json(as_bytes(R"({"attr":[{"key":"om_version")")));
  EXPECT_FALSE(is_ge_json(as_bytes("")));
  EXPECT_FALSE(is_ge_json(as_bytes(R"({"task":"statistics","data":{)")));
  EXPECT_FALSE(is_ge_json(as_bytes(R"(["graph"])")));
}

TEST(GeJson, SampleFilesReadAsWithPython) {
  const std::filesystem::path data = std::filesystem::path(PLUMB_TEST_DATA) / "graph";
  for (const char* name : {"npy_vs_offline", "fusion_relations", "fused_net", "amct_quant"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = data / (std::string(name) + ".json");
    const auto graph = load_graph(path);
    ASSERT_TRUE(graph.ok()) << graph.error().where;
    EXPECT_EQ(graph->format, "ge-json");
    EXPECT_THAT(graph->warnings, IsEmpty());
    EXPECT_EQ(list_graph(*graph), text_of(path.string() + ".expected"));
  }
}

TEST(Importers, UnknownFileIsRefusedByName) {
  Scratch scratch;
  const auto path = scratch.path() / "x.json";
  std::ofstream(path) << "hello";
  const auto graph = load_graph(path);
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().where, HasSubstr("x.json"));
  EXPECT_THAT(graph.error().remedy, HasSubstr(".onnx"));
}

}  // namespace
}  // namespace plumb::graph
