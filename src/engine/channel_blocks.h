// SPDX-License-Identifier: Apache-2.0
//
// ONNX Runtime's highest level of optimization stores channels in blocks as wide as the vectors of
// the processor. Its graph says which tensors (Output::layout), but not how wide a block is: the
// engine is asked, by a model of one operator.
#pragma once

#include "engine/engine.h"
#include "graph/graph.h"
#include "graph/stored_layouts.h"

namespace plumb::engine {

bool has_channel_blocks(const graph::Graph& graph);

// Channels of a block, on this machine.
Result<int64_t> channels_of_block(Engine& engine);

// The engine calls the shape (N, C, H, W), channels padded to whole blocks: as it is stored, (N,
// blocks, H, W, channels of a block). nullopt if it cannot be.
std::optional<Shape> blocked_shape(const Shape& shape, int64_t block);

}  // namespace plumb::engine
