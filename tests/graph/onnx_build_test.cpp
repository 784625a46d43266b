// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx_build.h"

#include <fstream>

#include "graph/onnx_files.h"
#include "graph/quantized_conv.h"
#include "scratch.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Integers = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

// What tests/graph/check_onnx.py prints about a model; nullopt without python3-onnx.
std::optional<std::string> python_lists(const OnnxModel& model) {
  const Scratch scratch;
  const std::string path = (scratch.path() / "model.onnx").string();
  const std::string out = (scratch.path() / "listing").string();
  std::ofstream(path, std::ios::binary) << write_onnx(model);
  const std::string script = PLUMB_TEST_DATA "/../graph/check_onnx.py";
  const int status =
      std::system(fmt::format("/usr/bin/python3 '{}' '{}' > '{}' 2>&1", script, path, out).c_str());
  if (WEXITSTATUS(status) == 77) return std::nullopt;
  EXPECT_EQ(WEXITSTATUS(status), 0) << text_of(out);
  return text_of(out);
}

OnnxNode constant(OnnxModel& model, const std::string& output, OnnxAttribute attribute) {
  const auto node = make_node(
      model, {.type = "Constant", .outputs = {output}, .attributes = {std::move(attribute)}});
  EXPECT_TRUE(node.ok());
  return *node;
}

// A Constant can have any kind of attribute but a graph; an If has graphs.
OnnxModel all_kinds() {
  OnnxModel model;
  model.ir_version = 8;
  import_opset(model, "", 13);
  model.graph.name = model.keep("kinds");
  const std::array<uint16_t, 2> halves{0x3C00, 0xC000};
  const OnnxAttribute attributes[] = {
      {"value_int", -7},
      {"value_float", -0.5f},
      {"value_string", "text"},
      {"value_ints", Integers{1, 0, -1}},
      {"value_floats", Floats{0, 1.5f}},
      {"value_strings", Strings{"a", "", "c"}},
      {"value", tensor_of(DType::kFloat16, {1, 2}, halves)},
      {"value_int", 0},
      {"value_float", 0.0f},
  };
  for (const OnnxAttribute& attribute : attributes)
    model.graph.nodes.push_back(
        constant(model, fmt::format("k{}", model.graph.nodes.size()), attribute));
  OnnxGraph branch;
  branch.name = "branch";
  branch.nodes.push_back(make_identity(model, "copy", "k0", "copied"));
  add(branch.outputs, make_value(model, "copied", {DType::kInt64, Shape{}}));
  add(model.graph.inputs, make_value(model, "flag", {DType::kBool, Shape{}}));
  add(model.graph.nodes,
      make_node(model, {.type = "If",
                        .inputs = {"flag"},
                        .outputs = {"y"},
                        .attributes = {{"then_branch", &branch}, {"else_branch", &branch}}}));
  add(model.graph.outputs, make_value(model, "y", {DType::kInt64, Shape{}}));
  return model;
}

TEST(OnnxBuild, AttributesOfEveryKindComeBack) {
  const OnnxModel model = all_kinds();
  expect_sound(model);
  const std::string file = write_onnx(model);
  const auto read = read_onnx(as_bytes(file));
  ASSERT_TRUE(read.ok()) << read.error().where;
  const std::vector<OnnxNode>& nodes = read->graph.nodes;
  const auto value = [&](size_t node, const char* name) {
    return attribute_of(nodes[node], name).value();
  };
  EXPECT_EQ(std::get<int64_t>(value(0, "value_int")), -7);
  EXPECT_EQ(std::get<float>(value(1, "value_float")), -0.5f);
  EXPECT_EQ(std::get<std::string>(value(2, "value_string")), "text");
  EXPECT_EQ(std::get<Integers>(value(3, "value_ints")), (Integers{1, 0, -1}));
  EXPECT_EQ(std::get<Floats>(value(4, "value_floats")), (Floats{0, 1.5f}));
  EXPECT_EQ(std::get<Strings>(value(5, "value_strings")), (Strings{"a", "", "c"}));
  EXPECT_EQ(std::get<int64_t>(value(7, "value_int")), 0);
  EXPECT_FALSE(attribute_of(nodes[6], "value").has_value()) << "a tensor";
  EXPECT_FALSE(attribute_of(nodes[0], "nothing").has_value());
  ASSERT_EQ(nodes[9].bodies.size(), 2u);
  EXPECT_THAT(nodes[9].captures, ElementsAre("k0"));
}

TEST(OnnxBuild, PythonReadsWhatWasBuilt) {
  const auto listing = python_lists(all_kinds());
  if (!listing) GTEST_SKIP() << "needs /usr/bin/python3 with onnx";
  EXPECT_EQ(*listing,
            "Constant() -> k0:INT64[] value_int=-7\n"
            "Constant() -> k1:FLOAT[] value_float=-0.5\n"
            "Constant() -> k2:STRING[] value_string=b'text'\n"
            "Constant() -> k3:INT64[3] value_ints=[1, 0, -1]\n"
            "Constant() -> k4:FLOAT[2] value_floats=[0.0, 1.5]\n"
            "Constant() -> k5:STRING[3] value_strings=[b'a', b'', b'c']\n"
            "Constant() -> k6:FLOAT16[1,2] value=[[1.0, -2.0]]\n"
            "Constant() -> k7:INT64[] value_int=0\n"
            "Constant() -> k8:FLOAT[] value_float=0.0\n"
            "If(flag) -> y:INT64[] then_branch=['Identity'] else_branch=['Identity']\n");
}

TEST(OnnxBuild, QuantizedConvolutionIsValid) {
  OnnxModel model = conv_model();
  quantize(model);
  expect_sound(model);
  EXPECT_EQ(listed(model),
            "x_q QuantizeLinear(x,x_scale,x_zero)=x_q\n"
            "x_dq DequantizeLinear(x_q,x_scale,x_zero)=x_dq\n"
            "w DequantizeLinear(w_2,w_3,w_4)=w\n"
            "conv Conv(x_dq,w)=c\n"
            "y Relu(c)=y\n");
  const auto listing = python_lists(model);
  if (!listing) GTEST_SKIP() << "needs /usr/bin/python3 with onnx";
  EXPECT_EQ(*listing,
            "QuantizeLinear(x,x_scale,x_zero) -> x_q:INT8[?,1,4,4]\n"
            "DequantizeLinear(x_q,x_scale,x_zero) -> x_dq:FLOAT[?,1,4,4]\n"
            "DequantizeLinear(w_2,w_3,w_4) -> w:FLOAT[2,1,3,3] axis=0\n"
            "Conv(x_dq,w) -> c:FLOAT[?,2,4,4] pads=[1, 1, 1, 1] group=1 auto_pad=b'NOTSET'\n"
            "Relu(c) -> y:FLOAT[?,2,4,4]\n");
}

// Every type that ONNX has.
TEST(OnnxBuild, InitializersOfEveryType) {
  OnnxModel model = conv_model();
  const std::array<std::byte, 32> bytes{};
  int types = 0;
  for (const DTypeInfo& type : dtypes()) {
    const std::string name = fmt::format("weight_{}", type.name);
    const OnnxTensor tensor{
        type.dtype, {2}, Bytes(bytes).first(static_cast<size_t>(*byte_count(type.dtype, 2)))};
    const auto weight = make_weight(model, name, tensor);
    const auto value = make_value(model, name, {type.dtype, Shape{2}});
    EXPECT_EQ(weight.ok(), value.ok()) << type.name;
    if (!weight.ok()) {
      EXPECT_THAT(weight.error().where, HasSubstr(type.name));
      continue;
    }
    ++types;
    EXPECT_EQ(weight->name, name);
    EXPECT_EQ(value->type.dtype, type.dtype);
    model.graph.initializers.push_back(*weight);
    model.graph.value_infos.push_back(*value);
    EXPECT_FALSE(make_weight(model, name, {type.dtype, {300}, tensor.bytes}).ok()) << "too short";
  }
  EXPECT_EQ(types, 18);
  expect_sound(model);
}

TEST(OnnxBuild, SizesOfValues) {
  OnnxModel model = conv_model();
  add(model.graph.inputs, make_value(model, "scalar", {DType::kInt32, Shape{}}));
  add(model.graph.inputs, make_value(model, "empty", {DType::kInt32, Shape{0, -1, 5}}));
  add(model.graph.inputs, make_value(model, "any", {DType::kInt32, std::nullopt}));
  const std::string file = write_onnx(model);
  const auto read = read_onnx(as_bytes(file));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->graph.inputs[1].type.shape, Shape{});
  EXPECT_EQ(read->graph.inputs[2].type.shape, (Shape{0, -1, 5}));
  EXPECT_EQ(read->graph.inputs[3].type.shape, std::nullopt);
  EXPECT_FALSE(is_typed(make_value(model, "untyped")));
}

TEST(OnnxBuild, OpsetsAreImportedOnce) {
  Loaded chain = load("chain.onnx");
  const size_t fields = chain.model.other_fields.size();
  import_opset(chain.model, "ai.onnx", 13);
  EXPECT_EQ(chain.model.other_fields.size(), fields);
  import_opset(chain.model, "com.microsoft", 1);
  const auto opsets = opsets_of(chain.model);
  ASSERT_EQ(opsets.size(), 2u);
  EXPECT_EQ(opsets[0].version, 13);
  EXPECT_EQ(opsets[1].domain, "com.microsoft");
}

TEST(OnnxBuild, AttributesAreCopiedAsTheyAre) {
  Loaded chain = load("chain.onnx");
  const OnnxNode& conv = chain.model.graph.nodes[0];
  const auto copy = make_node(chain.model, {.type = "FusedConv",
                                            .inputs = {"x", "w"},
                                            .outputs = {"fused"},
                                            .attributes = {{"activation", "Relu"}},
                                            .copied = attributes_of(conv),
                                            .domain = "com.microsoft"});
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->domain, "com.microsoft");
  EXPECT_FALSE(copy->is_standard());
  EXPECT_EQ(std::get<Integers>(attribute_of(*copy, "pads").value()), (Integers{1, 1, 1, 1}));
  EXPECT_EQ(as_text(attributes_of(*copy)[1]), as_text(attributes_of(conv)[0]));
}

TEST(OnnxBuild, NewNamesAreThoseOfNobody) {
  const Loaded branches = load("branches.onnx");
  UniqueNames names = names_in(branches.model.graph);
  for (const char* name : {"x", "flag2", "t", "k", "deep", "second", "n", "first", "y"})
    EXPECT_EQ(names.claim(name), std::string(name) + "_2");
  EXPECT_EQ(names.claim("x"), "x_3");
  EXPECT_EQ(names.claim("new"), "new");
  names = names_in(branches.model.graph, &branches.model.graph.nodes[1]);
  EXPECT_EQ(names.claim("k"), "k") << "in the bodies of the first If only";
}

}  // namespace
}  // namespace plumb::graph
