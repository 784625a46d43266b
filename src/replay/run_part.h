// SPDX-License-Identifier: Apache-2.0
//
// A part of a model, run alone: what an operator makes of inputs that somebody else's run left
// behind.
#pragma once

#include <span>

#include "engine/record_tensors.h"
#include "graph/onnx_cut.h"

namespace plumb::replay {

using Types = engine::InferredTypes;

// Element types of what `part` of the model reads: as the model says, else as the engine infers.
// `model` is what `source` was read from.
Result<Types> input_types(engine::Engine& engine, const engine::Model& model,
                          const graph::OnnxModel& source, std::span<const size_t> part);

// The same numbers in another type and shape, as a model's input wants them. Floats are rounded;
// integers must fit; only axes of length 1 may come and go.
Result<engine::Tensor> fitted(engine::Tensor tensor, DType dtype, const Shape& shape);

// Runs a model and keeps all it gives. Without optimisation and with one thread: bit for bit what
// `plumb dump` saves.
Result<engine::Inputs> run_once(engine::Engine& engine, const engine::Model& model,
                                const engine::Inputs& inputs);

}  // namespace plumb::replay
