// SPDX-License-Identifier: Apache-2.0
//
// Offline models against the JSON of the same graphs, which another decoder made (see
// tests/data/om/make_om.py), and files that were damaged on purpose.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/proto_wire.h"
#include "graph/importers.h"
#include "graph/listing.h"
#include "graph/readers.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const std::filesystem::path kData = std::filesystem::path(PLUMB_TEST_DATA) / "om";

// All that `list_graph` does not show; atc prints scales with six digits.
std::string list_rest(const Graph& graph) {
  std::string text;
  for (const auto& [key, value] : graph.properties) text += fmt::format("{} = {}\n", key, value);
  text += fmt::format("command '{}'\n", graph.command_line);
  for (const Operator& op : graph.operators) {
    text += fmt::format("{} multi {} l1 '{}'", op.name, op.is_multi_op, op.l1_group);
    if (op.quantization)
      text += fmt::format(" scale {:.5g} offset {:.5g}", op.quantization->scale,
                          op.quantization->offset);
    for (const Output& output : op.outputs) text += output.has_attributes ? " +" : " -";
    text += "\n";
  }
  return text;
}

void expect_same(const std::filesystem::path& om, const std::filesystem::path& json) {
  SCOPED_TRACE(om.filename());
  const auto read = load_graph(om), wanted = load_graph(json);
  ASSERT_TRUE(read.ok()) << read.error().what << ": " << read.error().where;
  ASSERT_TRUE(wanted.ok()) << wanted.error().what << ": " << wanted.error().where;
  EXPECT_EQ(read->format, "om");
  EXPECT_FALSE(read->operators.empty());
  EXPECT_EQ(list_graph(*read), list_graph(*wanted));
  EXPECT_EQ(list_rest(*read), list_rest(*wanted));
}

TEST(Om, IsTheGraphThatItsJsonIs) {
  for (const char* name : {"v1", "v2_narrow", "v2_wide", "v2_wide_compressed"})
    for (const char* json : {"net.json", "net_escaped.json"})
      expect_same(kData / (std::string(name) + ".om"), kData / json);
  for (const char* name : {"multi_narrow", "multi_wide"})
    expect_same(kData / (std::string(name) + ".om"), kData / "multi.json");
  expect_same(kData / "flow.om", kData / "flow.json");
}

TEST(Om, PublishedModelsAreWhatAnotherDecoderReads) {
  const char* given = std::getenv("PLUMB_SHARED");
  const auto shared = given != nullptr ? std::filesystem::path(given)
                                       : std::filesystem::path(PLUMB_TEST_DATA) / "../../../shared";
  const auto real = shared / "testdata/om/real";
  if (!std::filesystem::exists(real))
    GTEST_SKIP() << "no published models: " << real << " is absent (PLUMB_SHARED names it)";
  for (const char* name : {"iatsim", "face_quality_cut", "iat_lol_cut"})
    expect_same(real / (std::string(name) + ".om"), real / (std::string(name) + ".json"));
}

TEST(Om, FusionAndVersionsAreToldWithEnumeratedAttributes) {
  const auto graph = load_graph(kData / "v2_wide_compressed.om");
  ASSERT_TRUE(graph.ok()) << graph.error().where;
  const Operator& conv = *graph->by_name().at("conv1bn1relu1");
  EXPECT_THAT(*conv.origins, ElementsAre("conv1", "bn1", "relu1"));
  EXPECT_EQ(conv.outputs[0].origin, "relu1");
  EXPECT_THAT(graph->properties,
              ElementsAre(Pair("atc_version", "7.6.0.1.220"), Pair("opp_version", "7.6.0.1.220"),
                          Pair("soc_version", "Ascend310B4"), Pair("framework_type", "Onnx")));
  EXPECT_EQ(graph->by_name().at("quant_1")->quantization->scale, 0.0078125);
  EXPECT_EQ(graph->by_name().at("quant_1")->quantization->offset, -3);
  const double root = 0.123456789F;  // as the model has it; scale is applied twice
  EXPECT_EQ(graph->by_name().at("quant_2")->quantization->scale, root * root);
}

struct RefusedFile {
  const char* file;
  const char* what;
  const char* where;
};

TEST(Om, DamagedFilesAreRefusedByWhatIsWrong) {
  const RefusedFile cases[] = {
      {"encrypted.om", "the offline model is encrypted", "byte 80"},
      {"short_header.om", "cut off", "byte 200: its header has 256 bytes"},
      {"only_header.om", "damaged", "byte 256: the table of a model needs 4 bytes, 0 are left"},
      {"length_too_long.om", "cut off", "8609 bytes should follow the header, 8353 do"},
      {"count_huge.om", "damaged", "byte 256: a table of 4294967295 partitions"},
      {"partition_past_end.om", "damaged", "partition type 1 needs 4294967280 bytes"},
      {"wide_size_overflow.om", "damaged", "partition type 1 needs 18446744073709551608 bytes"},
      {"no_model_def.om", "holds no operator graph", "partitions of type 1, 3, 2"},
      {"model_num_huge.om", "damaged", "byte 156: 4294967295 models in 8353 bytes"},
      {"cut_proto.om", "the graph of the offline model is damaged", "field 11 needs"},
      {"not_proto.om", "the graph of the offline model is damaged", "byte 308: a number is longer"},
      {"deep.om", "the graph of the offline model is damaged", "nested more than 32 deep"},
      {"enum_out_of_range.om", "damaged", "an attribute is number 3 of a dictionary of 3"},
      {"svp_pico.om", "for SVP processors", "byte 0: starts with PICO"},
      {"om2_zip.om2", "of the form OM2", "byte 0: starts with PK"},
  };
  for (const RefusedFile& c : cases) {
    SCOPED_TRACE(c.file);
    const auto graph = load_graph(kData / "bad" / c.file);
    ASSERT_FALSE(graph.ok());
    EXPECT_THAT(graph.error().what, HasSubstr(c.what));
    EXPECT_THAT(graph.error().where, HasSubstr(c.where));
    EXPECT_THAT(graph.error().where, HasSubstr(c.file));
    EXPECT_THAT(graph.error().remedy, HasSubstr("atc --mode=1"));
  }
}

TEST(Om, BundleIsRefusedWithTheNamesOfItsParts) {
  const auto graph = load_graph(kData / "bundle.om");
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().what, HasSubstr("a bundle of several"));
  EXPECT_THAT(graph.error().where, HasSubstr("2 models: net, net"));
}

TEST(Om, OdditiesAreWarnings) {
  EXPECT_THAT(load_graph(kData / "v1.om")->warnings, IsEmpty());
  EXPECT_THAT(load_graph(kData / "bad/trailing_bytes.om")->warnings,
              ElementsAre("4 bytes after the end of the offline model"));
  EXPECT_THAT(load_graph(kData / "flow.om")->warnings,
              ElementsAre("a flow of 1 model, of which only the graph around it was read: "
                          "graph1 (NPU)"));
}

TEST(Om, EveryTruncationIsRefused) {
  for (const char* name : {"v1", "v2_wide_compressed", "multi_narrow", "flow", "bundle"}) {
    const std::string whole = text_of(kData / (std::string(name) + ".om"));
    for (size_t size = 0; size < whole.size(); ++size)
      ASSERT_FALSE(graph_from_om(as_bytes(whole).first(size)).ok()) << name << " " << size;
  }
}

// ---- models made here ----

void put_u32(std::string& to, uint32_t value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A file of version 2.0 whose only partition is this graph.
std::string file_of(const ProtoWriter& model) {
  std::string file = "IMOD";
  put_u32(file, 256);
  put_u32(file, 0x20000000);
  file.append(64, '\0');
  put_u32(file, static_cast<uint32_t>(16 + model.bytes().size()));
  file.resize(256, '\0');
  for (const uint32_t field :
       {uint32_t{1}, uint32_t{0}, uint32_t{0}, static_cast<uint32_t>(model.bytes().size())})
    put_u32(file, field);
  return file + model.bytes();
}

ProtoWriter attribute(std::string_view key, const ProtoWriter& value) {
  ProtoWriter entry;
  entry.text(1, key);
  entry.message(2, value);
  return entry;
}

ProtoWriter texts(std::initializer_list<std::string_view> items) {
  ProtoWriter list, value;
  for (std::string_view item : items) list.message(2, as_bytes(item));
  value.message(1, list);
  return value;
}

ProtoWriter integers(uint32_t number, const std::vector<int64_t>& items) {
  ProtoWriter list, value;
  list.packed(number, items);
  value.message(1, list);
  return value;
}

ProtoWriter integer(uint64_t number) {
  ProtoWriter value;
  value.varint_or_zero(3, number);
  return value;
}

// One operator with these attributes, and the dictionary they refer to.
std::string with_dictionary(std::initializer_list<ProtoWriter> attributes) {
  ProtoWriter op, graph, model;
  op.text(1, "x");
  op.text(2, "X");
  for (const ProtoWriter& entry : attributes) op.message(10, entry);
  graph.message(6, op);
  model.message(7, graph);
  model.message(11, attribute("om_compress_version", integer(1)));
  model.message(11, attribute("attr_name_enum", texts({"_datadump_original_op_names", "other"})));
  model.message(11, attribute("attr_value_enum", texts({"a", std::string(1000, 'b')})));
  model.message(11, attribute("attrs_use_string_value", integers(5, {1, 0})));
  return file_of(model);
}

TEST(Om, NumbersOutsideTheDictionaryAreDamage) {
  struct Case {
    const char* name;
    std::string_view key;
    std::vector<int64_t> numbers;
    const char* where;  // nullptr: fine
  };
  using std::string_view_literals::operator""sv;
  const Case cases[] = {
      {"known", "\0\1"sv, {1, 0}, nullptr},
      {"another attribute", "\0\2"sv, {7}, nullptr},
      {"empty list", "\0\1"sv, {}, nullptr},
      {"no digits", "\0"sv, {}, "number 0 of a dictionary of 2"},
      {"name beyond the end", "\0\3"sv, {}, "number 2 of a dictionary of 2"},
      {"two digits", "\0\1\2"sv, {}, "number 127 of a dictionary of 2"},
      {"digit 0", "\0\1\0"sv, {}, "of a dictionary of 2"},
      {"five digits", "\0\1\1\1\1\1"sv, {}, "of a dictionary of 2"},
      {"text beyond the end", "\0\1"sv, {2}, "a text is number 2 of a dictionary of 2"},
      {"negative text", "\0\1"sv, {-1}, "a text is number -1 of a dictionary of 2"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string file = with_dictionary({attribute(c.key, integers(3, c.numbers))});
    const auto graph = graph_from_om(as_bytes(file));
    ASSERT_EQ(graph.ok(), c.where == nullptr) << (graph.ok() ? "" : graph.error().where);
    if (c.where != nullptr) {
      EXPECT_THAT(graph.error().where, HasSubstr(c.where));
    }
  }
  const auto known =
      graph_from_om(as_bytes(with_dictionary({attribute("\0\1"sv, integers(3, {1, 0}))})));
  EXPECT_THAT(*known->operators[0].origins, ElementsAre(std::string(1000, 'b'), "a"));
}

TEST(Om, NumberedAttributesWithoutDictionaryAreDamage) {
  using std::string_view_literals::operator""sv;
  ProtoWriter op, graph, model;
  op.text(1, "x");
  op.text(2, "X");
  op.message(10, attribute("\0\1"sv, integer(1)));
  graph.message(6, op);
  model.message(7, graph);
  const auto read = graph_from_om(as_bytes(file_of(model)));
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().where, HasSubstr("the model has no dictionary for it"));
}

TEST(Om, MemoryIsBoundedByTheFile) {
  using std::string_view_literals::operator""sv;
  const std::string expanding = with_dictionary(
      {attribute("\0\1"sv, integers(3, std::vector<int64_t>(100000, 1)))});  // a hundred megabytes
  const auto texts_read = graph_from_om(as_bytes(expanding));
  ASSERT_FALSE(texts_read.ok());
  EXPECT_THAT(texts_read.error().where, HasSubstr("32 times its size"));

  ProtoWriter op, graph, model;
  op.text(1, "x");
  op.text(2, "X");
  for (int i = 0; i < 100000; ++i) op.message(34, ProtoWriter());
  graph.message(6, op);
  model.message(7, graph);
  const auto outputs_read = graph_from_om(as_bytes(file_of(model)));
  ASSERT_FALSE(outputs_read.ok());
  EXPECT_THAT(outputs_read.error().where, HasSubstr("32 times its size"));
}

TEST(Om, CyclesAndRepeatedNamesDoNoHarm) {
  ProtoWriter graph, model;
  for (int i = 0; i < 2; ++i) {
    ProtoWriter op;
    op.text(1, "a");
    op.text(2, "A");
    op.text(5, "a:0");
    graph.message(6, op);
  }
  model.message(7, graph);
  const auto read = graph_from_om(as_bytes(file_of(model)));
  ASSERT_TRUE(read.ok()) << read.error().where;
  EXPECT_EQ(read->operators.size(), 2u);
}

// A field that is a number where the schema has a message or a text, at every place.
TEST(Om, OtherKindsOfFieldsAreDamage) {
  const std::string whole = text_of(kData / "multi_narrow.om");
  size_t refused = 0;
  for (size_t at = 272; at < whole.size(); ++at)
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = byte;
      const auto read = graph_from_om(as_bytes(changed));  // must come back, whatever it says
      refused += !read.ok();
    }
  EXPECT_GT(refused, 100u);
}

TEST(Om, ProbeLooksAtContent) {
  EXPECT_TRUE(is_om(as_bytes("IMOD")));
  EXPECT_TRUE(is_om(as_bytes("PICO")));
  EXPECT_FALSE(is_om(as_bytes("IMO")));
  EXPECT_FALSE(is_om(as_bytes("PK\3\4 arr_0.npy")));
  EXPECT_FALSE(is_om(as_bytes("")));
}

}  // namespace
}  // namespace plumb::graph
