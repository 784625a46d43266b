// SPDX-License-Identifier: Apache-2.0
//
// Caffe networks compared from end to end; edited_models does it for ONNX.
#include "pair/model_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/proto_wire.h"

namespace plumb::pair {
namespace {

using graph::DiffGrade;
using testing::ElementsAre;
using testing::IsEmpty;

struct Blob {
  std::vector<int64_t> shape;
  std::vector<float> numbers;
};
struct Layer {
  std::string name;
  std::vector<Blob> blobs;
};

// A NetParameter, as caffe.proto numbers its fields.
std::string caffemodel(const std::vector<Layer>& layers) {
  ProtoWriter net;
  for (const Layer& layer : layers) {
    ProtoWriter message;
    message.text(1, layer.name);
    for (const Blob& blob : layer.blobs) {
      ProtoWriter shape, body;
      shape.packed(1, blob.shape);
      body.message(7, shape);
      body.message(5, std::as_bytes(std::span(blob.numbers)));
      message.message(7, body);
    }
    net.message(100, message);
  }
  return std::move(net).take();
}

std::string prototxt(const std::string& convolution, bool norm, bool relu) {
  std::string text =
      "input: \"x\" input_shape { dim: 1 dim: 1 dim: 4 dim: 4 }\n"
      "layer { name: \"conv\" type: \"Convolution\" bottom: \"x\" top: \"c\" convolution_param { "
      "num_output: 2 " +
      convolution + " } }\n";
  std::string top = "c";
  if (norm) {
    text +=
        "layer { name: \"bn\" type: \"BatchNorm\" bottom: \"c\" top: \"b\" }\n"
        "layer { name: \"scale\" type: \"Scale\" bottom: \"b\" top: \"s\" scale_param { bias_term: "
        "true } }\n";
    top = "s";
  }
  if (relu) {
    text += "layer { name: \"relu\" type: \"ReLU\" bottom: \"" + top + "\" top: \"r\" }\n";
    top = "r";
  }
  return text + "layer { name: \"pool\" type: \"Pooling\" bottom: \"" + top +
         "\" top: \"p\" pooling_param { kernel_size: 2 } }\n";
}

std::vector<float> ramp(size_t count, float factor = 1) {
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(factor * (0.1F * static_cast<float>(i * i % 17) - 0.7F));
  return numbers;
}

std::vector<Layer> plain_layers() {
  return {{"conv", {{{2, 1, 3, 3}, ramp(18)}, {{2}, {0.5F, -1}}}}};
}

std::vector<std::string> details(const std::string& target_text, const std::vector<Layer>& target,
                                 const std::string& golden_text, const std::vector<Layer>& golden) {
  const std::string own = caffemodel(target), theirs = caffemodel(golden);
  const auto t = graph::content_from_caffe(as_bytes(target_text), as_bytes(own));
  const auto g = graph::content_from_caffe(as_bytes(golden_text), as_bytes(theirs));
  if (!t || !g) return {"unreadable: " + (t ? g.error().where : t.error().where)};
  const auto diff = graph::diff_models(*t, *g, align_models(t->graph, g->graph));
  std::vector<std::string> found;
  for (const graph::Difference& each : diff.differences)
    if (each.grade != DiffGrade::kEquivalent) found.push_back(each.golden + " " + each.detail);
  EXPECT_EQ(diff.target.paired + diff.target.in_regions + diff.target.idle, diff.target.operators);
  EXPECT_EQ(diff.golden.paired + diff.golden.in_regions + diff.golden.idle, diff.golden.operators);
  return found;
}

TEST(ModelAlignment, CaffeNetworksAreCompared) {
  const std::string net = prototxt("kernel_size: 3", false, true);
  EXPECT_THAT(details(net, plain_layers(), net, plain_layers()), IsEmpty());
  // Defaults and other ways to write them.
  EXPECT_THAT(
      details(
          prototxt("kernel_h: 3 kernel_w: 3 pad: 0 stride: 1 weight_filler { type: \"xavier\" }",
                   false, true),
          plain_layers(), net, plain_layers()),
      IsEmpty());
  EXPECT_THAT(
      details(prototxt("kernel_size: 3 pad: 1", false, true), plain_layers(), net, plain_layers()),
      ElementsAre("conv attribute:pad"));
  EXPECT_THAT(
      details(prototxt("kernel_size: 3", false, false), plain_layers(), net, plain_layers()),
      ElementsAre("relu missing:ReLU"));
  auto scaled = plain_layers();
  scaled[0].blobs[0].numbers = ramp(18, 1.5F);
  EXPECT_THAT(details(net, scaled, net, plain_layers()), ElementsAre("conv scale:1.5"));
  auto one = plain_layers();
  one[0].blobs[1].numbers[1] = 4;
  EXPECT_THAT(details(net, one, net, plain_layers()), ElementsAre("conv channel:1"));
}

TEST(ModelAlignment, FoldedCaffeBatchNormIsTheSame) {
  // mean 2 and variance 4, both kept times 2; scale 3, shift 1.
  auto golden = plain_layers();
  golden.push_back({"bn", {{{2}, {4, 4}}, {{2}, {8, 8}}, {{1}, {2}}}});
  golden.push_back({"scale", {{{2}, {3, 3}}, {{2}, {1, 1}}}});
  const double factor = 3 / std::sqrt(4 + 1e-5);
  auto folded = plain_layers();
  for (float& number : folded[0].blobs[0].numbers)
    number = static_cast<float>(static_cast<double>(number) * factor);
  for (float& number : folded[0].blobs[1].numbers)
    number = static_cast<float>((static_cast<double>(number) - 2) * factor + 1);
  const std::string plain = prototxt("kernel_size: 3", false, true),
                    with = prototxt("kernel_size: 3", true, true);
  EXPECT_THAT(details(plain, folded, with, golden), IsEmpty());
  EXPECT_THAT(details(with, golden, plain, folded), IsEmpty());
  folded[0].blobs[0].numbers[3] *= 2;
  EXPECT_THAT(details(plain, folded, with, golden),
              ElementsAre(testing::StartsWith("conv element:0,0,1,0")));
}

TEST(ModelAlignment, DamagedWeightsAreErrors) {
  const std::string net = prototxt("kernel_size: 3", false, true);
  auto layers = plain_layers();
  layers[0].blobs[0].shape = {2, 1, 3, 4};
  const std::string misfit = caffemodel(layers), cut = caffemodel(plain_layers()).substr(0, 40);
  EXPECT_FALSE(graph::content_from_caffe(as_bytes(net), as_bytes(misfit)).ok());
  EXPECT_FALSE(graph::content_from_caffe(as_bytes(net), as_bytes(cut)).ok());
}

}  // namespace
}  // namespace plumb::pair
