// SPDX-License-Identifier: Apache-2.0
#include "graph/caffe_weights.h"

#include <gtest/gtest.h>

#include "base/proto_wire.h"
#include "graph/model_content.h"

namespace plumb::graph {
namespace {

// A network of two convolutions, in the fields of today or of before 2015, with what we know
// nothing of in between.
std::string two_convolutions(bool is_old) {
  const uint32_t layer_field = is_old ? 2 : 100, name_field = is_old ? 4 : 1,
                 blobs_field = is_old ? 6 : 7;
  ProtoWriter net;
  net.text(1, "net");
  for (const char* name : {"a", "b"}) {
    ProtoWriter layer;
    layer.text(name_field, name);
    for (const size_t count : {size_t{4}, size_t{2}}) {
      const std::vector<float> values(count, 0.5F);
      ProtoWriter shape, blob;
      shape.packed(1, std::vector<int64_t>{static_cast<int64_t>(count)});
      blob.message(7, shape);
      blob.message(5, std::as_bytes(std::span(values)));
      layer.message(blobs_field, blob);
    }
    layer.varint(10, 1);
    net.message(layer_field, layer);
  }
  net.varint(5, 1);
  return net.bytes();
}

// The blobs of both layers, as the reader of networks has them.
std::vector<std::vector<double>> blobs_in(const std::string& caffemodel) {
  const std::string text =
      "layer { name: 'a' type: 'X' top: 'a' } layer { name: 'b' type: 'X' top: 'b' }";
  const auto content = content_from_caffe(as_bytes(text), as_bytes(caffemodel));
  std::vector<std::vector<double>> blobs;
  if (!content) return blobs;
  for (const OperatorContent& layer : content->operators)
    for (const Operand& operand : layer.operands)
      if (operand.constant) blobs.push_back(operand.constant->all());
  return blobs;
}

TEST(CaffeWeights, OneBlobIsReplacedAndTheRestStays) {
  for (const bool is_old : {false, true}) {
    const std::string before = two_convolutions(is_old);
    auto after = with_blobs(as_bytes(before), {{{"b", 0}, {1, 2, 3, 4}}});
    ASSERT_TRUE(after) << after.error().what;
    const std::vector<std::vector<double>> expected{
        {0.5, 0.5, 0.5, 0.5}, {0.5, 0.5}, {1, 2, 3, 4}, {0.5, 0.5}};
    EXPECT_EQ(blobs_in(*after), expected);
    // The old numbers in the new file give the old file.
    auto again = with_blobs(as_bytes(*after), {{{"b", 0}, {0.5, 0.5, 0.5, 0.5}}});
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, before);
  }
}

TEST(CaffeWeights, WhatDoesNotFitIsRefused) {
  const std::string file = two_convolutions(false);
  const auto refused = [&](const CaffeBlobValues& values) {
    const auto made = with_blobs(as_bytes(file), values);
    return made ? "" : made.error().what;
  };
  EXPECT_EQ(refused({{{"a", 0}, {1, 2, 3}}}), "the blob has another size");
  EXPECT_EQ(refused({{{"a", 2}, {1}}}), "the Caffe weights have no such blob");
  EXPECT_EQ(refused({{{"c", 0}, {1}}}), "the Caffe weights have no such blob");
  EXPECT_FALSE(with_blobs(as_bytes(file).first(file.size() - 3), {}));
}

}  // namespace
}  // namespace plumb::graph
