// SPDX-License-Identifier: Apache-2.0
//
// What Output::layout says of tensors that ONNX Runtime stores in an order of its own, and the
// shape that they have in the order of the model: (N, C, H, W).
#pragma once

#include "tensor/shape.h"

namespace plumb::graph {

// Channels lie in blocks, the last one padded: the stored shape is (N, blocks, H, W, channels of a
// block).
inline constexpr const char* kBlockedChannels = "NC1HWC0";
// The stored shape is (N, H, W, C).
inline constexpr const char* kChannelsLast = "NHWC";

// Of a stored shape with channels last, which has four axes.
inline Shape channels_first(const Shape& stored) {
  return {stored[0], stored[3], stored[1], stored[2]};
}

}  // namespace plumb::graph
