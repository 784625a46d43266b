// SPDX-License-Identifier: Apache-2.0
//
// What a run tells of the tensors inside a model: types and shapes, and values where they are
// wanted. Nothing is written to disk, unlike in a dump.
#pragma once

#include <span>

#include "engine/engine.h"
#include "graph/onnx_model.h"

namespace plumb::engine {

// As the engine infers them when it loads the model: nothing is run. Sizes that depend on inputs
// stay open.
using InferredTypes = std::map<std::string, graph::OnnxType, std::less<>>;
Result<InferredTypes> infer_types(Engine& engine, const Model& model,
                                  std::span<const std::string> tensors);

struct RecordedTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::optional<std::vector<std::byte>> value;
};
using Recorded = std::map<std::string, RecordedTensor, std::less<>>;

// Tensors that the engine does not give, and what is no tensor of numbers, are left out. Runs as
// often as memory asks for.
Result<Recorded> record_tensors(Engine& engine, const Model& model, const Inputs& inputs,
                                std::span<const std::string> tensors,
                                const std::function<bool(const std::string&)>& wants_value);

}  // namespace plumb::engine
