// SPDX-License-Identifier: Apache-2.0
//
// What the translation of a Caffe network looks like and what it refuses. That it computes the same
// is for tests/engine/run_caffe to show.
#include "graph/caffe_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/proto_wire.h"
#include "graph/caffe_layer.h"
#include "graph/listing.h"
#include "graph/onnx_build.h"

namespace plumb::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ints = std::vector<int64_t>;

constexpr std::string_view kInput =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 4 dim: 6 "
    "dim: 6 } } } ";

// Weights of a layer: blobs of so many numbers, all 0.5.
std::string weights_of(std::string_view layer, const std::vector<size_t>& counts) {
  ProtoWriter proto, net;
  proto.text(1, layer);
  for (const size_t count : counts) {
    const std::vector<float> values(count, 0.5F);
    ProtoWriter shape, blob;
    shape.packed(1, Ints{static_cast<int64_t>(count)});
    blob.message(7, shape);
    blob.message(5, std::as_bytes(std::span(values)));
    proto.message(7, blob);
  }
  net.message(100, proto);
  return net.bytes();
}

Result<OnnxModel> translate(std::string_view layers, std::string_view weights = {},
                            const CaffeTranslation& how = {}) {
  const std::string text = std::string(kInput) + std::string(layers);
  const auto content = content_from_caffe(as_bytes(text), as_bytes(weights));
  EXPECT_TRUE(content.ok());
  return translate_caffe(*content, how);
}

std::vector<std::string> nodes_of(const OnnxModel& model) {
  std::vector<std::string> texts;
  for (const OnnxNode& node : model.graph.nodes)
    texts.push_back(fmt::format("{} {}: {} -> {}", node.type, node.name,
                                fmt::join(node.inputs, " "), fmt::join(node.outputs, " ")));
  return texts;
}

std::string layer(std::string_view type, std::string_view rest = "") {
  return fmt::format("layer {{ name: 'x' type: '{}' bottom: 'data' top: 'x' {} }}", type, rest);
}

TEST(CaffeOnnx, RefusesByName) {
  struct Case {
    const char* name;
    std::string layers;
    const char* where;
    const char* remedy;
  };
  const Case cases[] = {
      {"boxes", layer("PriorBox"), "PriorBox 'x'", "outside"},
      {"detections", layer("DetectionOutput"), "DetectionOutput 'x'", "outside"},
      {"data set", layer("Data"), "Data 'x': it reads a data set", "deploy.prototxt"},
      {"loss", layer("SoftmaxWithLoss"), "it is a loss", "deploy.prototxt"},
      {"unknown", layer("Convolutio"), "no translation", "did you mean 'Convolution'?"},
      {"no kernel", layer("Convolution", "convolution_param { num_output: 2 }"),
       "kernel_size is not told", ""},
      {"kernel 0", layer("Convolution", "convolution_param { num_output: 2 kernel_size: 0 }"),
       "kernel_size is 0, not a whole number from 1", ""},
      {"huge kernel",
       layer("Pooling", "pooling_param { kernel_size: 2000000000 stride: 2000000000 }"),
       "not height and width", ""},
      {"groups",
       layer("Convolution", "convolution_param { num_output: 4 kernel_size: 1 group: 3 }"),
       "3 groups divide 4 channels", ""},
      {"no weights", layer("Convolution", "convolution_param { num_output: 4 kernel_size: 1 }"),
       "0 blobs for it, 1 are expected", "--weights"},
      {"batch statistics", layer("BatchNorm", "batch_norm_param { use_global_stats: false }"),
       "statistics of the batch", ""},
      {"mask",
       "layer { name: 'x' type: 'Pooling' bottom: 'data' top: 'x' top: 'm' pooling_param { "
       "kernel_size: 2 } }",
       "mask", ""},
      {"stochastic", layer("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }"),
       "for training", ""},
      {"empty window", layer("Pooling", "pooling_param { kernel_size: 1 stride: 4 }"),
       "a window of it lies outside of [1, 4, 6, 6]", ""},
      {"too small", layer("Convolution", "convolution_param { num_output: 4 kernel_size: 9 }"), "",
       ""},
      {"axis", layer("Softmax", "softmax_param { axis: 4 }"), "axis is 4", ""},
      {"reshape", layer("Reshape", "reshape_param { shape { dim: 5 dim: -1 } }"),
       "[1, 4, 6, 6] cannot become", ""},
      {"permute twice", layer("Permute", "permute_param { order: 0 order: 0 }"), "none of the 4",
       ""},
      {"permute far", layer("Permute", "permute_param { order: 9 }"), "none of the 4", ""},
      {"slice", layer("Slice", "slice_param { slice_point: 2 }"), "1 slice points for 1 tops", ""},
      {"eltwise", layer("Eltwise"), "it reads 1 blobs", ""},
      {"coefficients",
       "layer { name: 'x' type: 'Eltwise' bottom: 'data' bottom: 'data' top: 'x' eltwise_param { "
       "coeff: 1 } }",
       "1 coefficients for 2 blobs", ""},
      {"nobody writes it", "layer { name: 'x' type: 'ReLU' bottom: 'y' top: 'x' }",
       "reads a blob that no layer above writes", ""},
      {"same name", layer("ReLU") + "layer { name: 'x' type: 'TanH' bottom: 'data' top: 'y' }",
       "two layers are called 'x'", ""},
      {"nothing", "", "nothing is given out", ""},
      {"infinite slope", layer("ReLU", "relu_param { negative_slope: inf }"), "negative_slope", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto model = translate(c.layers);
    ASSERT_FALSE(model.ok());
    EXPECT_THAT(model.error().what, HasSubstr("cannot be translated to ONNX"));
    EXPECT_THAT(model.error().where, HasSubstr(c.where));
    EXPECT_THAT(model.error().remedy, HasSubstr(c.remedy));
    EXPECT_FALSE(model.error().remedy.empty());
  }
}

TEST(CaffeOnnx, WeightsThatDoNotFitAreRefused) {
  const std::string text =
      layer("Convolution", "convolution_param { num_output: 2 kernel_size: 3 }");
  const auto wrong = translate(text, weights_of("x", {70, 2}));
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().where, HasSubstr("blob 0 of the weights has 70 numbers"));
  EXPECT_THAT(wrong.error().where, HasSubstr("72 are expected"));
  EXPECT_FALSE(translate(text, weights_of("x", {72})).ok());  // the bias is missing
  EXPECT_TRUE(translate(text, weights_of("x", {72, 2})).ok());
}

TEST(CaffeOnnx, NodesHaveTheNamesOfLayersAndTensorsThoseOfBlobs) {
  const auto model = translate(
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'a' inner_product_param { "
      "num_output: 3 } } "
      "layer { name: 'act' type: 'ReLU' bottom: 'a' top: 'a' } "
      "layer { name: 'on_data' type: 'ReLU' bottom: 'data' top: 'data' } "
      "layer { name: 'last' type: 'TanH' bottom: 'data' top: 'b' }",
      weights_of("fc", {432, 3}));
  ASSERT_TRUE(model.ok()) << model.error().where;
  EXPECT_THAT(nodes_of(*model),
              ElementsAre("Flatten fc/flat: data -> fc/flat",
                          "Gemm fc: fc/flat fc/weight fc/bias -> fc/a", "Relu act: fc/a -> a",
                          "Relu on_data: data -> on_data/data", "Tanh last: on_data/data -> b"));
  ASSERT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_EQ(model->graph.inputs[0].name, "data");
  ASSERT_EQ(model->graph.outputs.size(), 2u);
  EXPECT_EQ(model->graph.outputs[0].name, "a");
  EXPECT_EQ(model->graph.outputs[1].type.shape, (Shape{1, 4, 6, 6}));
}

TEST(CaffeOnnx, NamesThatTheTranslationAddsDoNotClash) {
  const auto model = translate(
      "layer { name: 'fc/flat' type: 'ReLU' bottom: 'data' top: 'fc/weight' } "
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'fc/weight' top: 'fc' inner_product_param { "
      "num_output: 1 bias_term: false } }",
      weights_of("fc", {144}));
  ASSERT_TRUE(model.ok()) << model.error().where;
  EXPECT_THAT(nodes_of(*model), ElementsAre("Relu fc/flat: data -> fc/weight",
                                            "Flatten fc/flat_2: fc/weight -> fc/flat_2",
                                            "Gemm fc: fc/flat_2 fc/weight_2 -> fc"));
}

// Sizes and padding by Caffe's own formula: (6 + 2 - 3) / 2 + 1, rounded up, on 6 pixels.
TEST(CaffeOnnx, PoolingOverTheEdgeIsExplicitPadding) {
  const auto model =
      translate(layer("Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }"));
  ASSERT_TRUE(model.ok()) << model.error().where;
  EXPECT_THAT(nodes_of(*model),
              ElementsAre("Pad x/padded: data x/pads -> x/padded", "AveragePool x: x/padded -> x"));
  EXPECT_EQ(model->graph.outputs[0].type.shape, (Shape{1, 4, 4, 4}));
  const auto pads = attribute_of(model->graph.nodes[1], "pads");
  ASSERT_TRUE(pads);
  EXPECT_EQ(std::get<Ints>(*pads), (Ints{0, 0, 1, 1}));
}

TEST(CaffeOnnx, ABatchNormAndItsScaleAreOneNodeUnlessEveryBlobIsWanted) {
  const std::string norm = "layer { name: 'n' type: 'BatchNorm' bottom: 'data' top: 'n' } ";
  const std::string scale =
      "layer { name: 's' type: 'Scale' bottom: 'n' top: 's' scale_param { bias_term: true } } ";
  const std::string weights = weights_of("n", {4, 4, 1}) + weights_of("s", {4, 4});
  const auto both = translate(norm + scale, weights);
  ASSERT_TRUE(both.ok()) << both.error().where;
  EXPECT_THAT(nodes_of(*both), ElementsAre("BatchNormalization s: data s/scale s/bias s/mean "
                                           "s/variance -> s"));
  const auto apart = translate(norm + scale, weights, {.merges_scale = false});
  ASSERT_TRUE(apart.ok());
  EXPECT_THAT(nodes_of(*apart),
              ElementsAre("BatchNormalization n: data n/scale n/bias n/mean n/variance -> n",
                          "Mul s/scaled: n s/scale -> s/scaled", "Add s: s/scaled s/bias -> s"));
  // Somebody else reads what the BatchNorm gives.
  const auto read =
      translate(norm + scale + "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'r' }", weights);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->graph.nodes.size(), 4u);
}

// 6 pixels, windows of 3, steps of 2 and no padding: 2.5 rounded up.
TEST(CaffeOnnx, LargestElementsRoundUpByTheOperatorsOwnMode) {
  const auto model = translate(layer("Pooling", "pooling_param { kernel_size: 3 stride: 2 }"));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->graph.outputs[0].type.shape, (Shape{1, 4, 3, 3}));
  EXPECT_EQ(std::get<int64_t>(*attribute_of(model->graph.nodes[0], "ceil_mode")), 1);
  // Rounded up along one axis only, the padding says so.
  const auto mixed = translate(
      layer("Pooling", "pooling_param { kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 2 }"));
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->graph.outputs[0].type.shape, (Shape{1, 4, 3, 3}));
  EXPECT_EQ(attribute_of(mixed->graph.nodes[0], "ceil_mode"), std::nullopt);
  EXPECT_EQ(std::get<Ints>(*attribute_of(mixed->graph.nodes[0], "pads")), (Ints{0, 0, 1, 0}));
}

TEST(CaffeOnnx, WhatDoesNothingIsAnIdentityOfThatName) {
  const auto model = translate(
      "layer { name: 'd' type: 'Dropout' bottom: 'data' top: 'd' } "
      "layer { name: 'p' type: 'Power' bottom: 'd' top: 'p' } "
      "layer { name: 's' type: 'Split' bottom: 'p' top: 's1' top: 's2' } "
      "layer { name: 'q' type: 'Silence' bottom: 's2' }");
  ASSERT_TRUE(model.ok()) << model.error().where;
  EXPECT_THAT(nodes_of(*model), ElementsAre("Identity d: data -> d", "Identity p: d -> p",
                                            "Identity s: p -> s1", "Identity s/copy_1: p -> s2"));
}

TEST(CaffeOnnx, IsAModelThatReadsBack) {
  const auto model = translate(layer("ReLU"));
  ASSERT_TRUE(model.ok());
  const std::string bytes = write_onnx(*model);
  const auto again = read_onnx(as_bytes(bytes));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(write_onnx(*again), bytes);
  ASSERT_EQ(opsets_of(*again).size(), 1u);
  EXPECT_EQ(opsets_of(*again)[0].version, 13);
}

// Cut off anywhere, text or weights: an error or a smaller model, never a crash.
TEST(CaffeOnnx, EveryTruncationIsHandled) {
  const std::filesystem::path models =
      std::filesystem::path(PLUMB_TEST_DATA) / "../../examples/models";
  const std::string text = text_of(models / "digits.prototxt");
  const std::string weights = text_of(models / "digits.caffemodel");
  const auto translated = [](std::string_view network, std::string_view numbers) {
    const auto content = content_from_caffe(as_bytes(network), as_bytes(numbers));
    if (!content) return false;
    const auto model = translate_caffe(*content);
    return model.ok() && read_onnx(as_bytes(write_onnx(*model))).ok();
  };
  ASSERT_TRUE(translated(text, weights));
  size_t fine = 0;
  for (size_t size = 0; size < text.size(); size += 3)
    fine += translated(std::string_view(text).substr(0, size), weights);
  EXPECT_LT(fine, 100u);  // where a layer ends
  for (size_t size = 0; size + 1 < weights.size(); size += 601)
    EXPECT_FALSE(translated(text, std::string_view(weights).substr(0, size))) << size;
}

// One byte of the text changed: whatever becomes of it can be read.
TEST(CaffeOnnx, ChangedBytesAreHandled) {
  const std::string text = std::string(kInput) +
                           layer("Pooling", "pooling_param { kernel_size: 3 stride: 2 pad: 1 }") +
                           "layer { name: 'y' type: 'Reshape' bottom: 'x' top: 'y' reshape_param { "
                           "shape { dim: 0 dim: -1 } } } layer { name: 'z' type: 'Slice' bottom: "
                           "'y' top: 'z' top: 'w' slice_param { axis: 1 slice_point: 9 } }";
  for (size_t i = 0; i < text.size(); ++i)
    for (const char c : {'0', '9', '-', '.', '}', 'e', ' '}) {
      std::string changed = text;
      changed[i] = c;
      const auto content = content_from_caffe(as_bytes(changed), {});
      if (!content) continue;
      const auto model = translate_caffe(*content);
      EXPECT_TRUE(!model || read_onnx(as_bytes(write_onnx(*model))).ok()) << changed;
    }
}

TEST(CaffeOnnx, TheTableIsSorted) {  // by letters, whatever their case
  const auto lower = [](std::string_view text) {
    std::string made(text);
    for (char& c : made) c = static_cast<char>(std::tolower(c));
    return made;
  };
  const auto kinds = caffe_layer_kinds();
  for (size_t i = 1; i < kinds.size(); ++i)
    EXPECT_LT(lower(kinds[i - 1].type), lower(kinds[i].type));
}

}  // namespace
}  // namespace plumb::graph
