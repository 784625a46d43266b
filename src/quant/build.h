// SPDX-License-Identifier: Apache-2.0
//
// The quantized model as ONNX: a QuantizeLinear and a DequantizeLinear behind every tensor that has
// a grid.
#pragma once

#include "quant/quantization.h"

namespace plumb::quant {

enum class Form : uint8_t {
  // Weights are floats that lie on their grids. Run without optimisation it shows what the
  // arithmetic of integers loses, on any CPU.
  kFakeQuant,
  // Weights are integers; what reads a tensor finds it quantized right before it, as engines expect
  // that fuse integer kernels.
  kQdq,
};

// Weights, biases and tensors that have no grid stay as they are.
struct BuiltModel {
  std::string file;                                         // ONNX
  std::map<std::string, std::string, std::less<>> rounded;  // tensor -> what its readers read
};
Result<BuiltModel> build_quantized(const PreparedModel& model, const Plan& plan,
                                   const Quantization& quantization, Form form);

// The float model with a copy of each layer beside it that reads the float model's own tensors:
// what a layer loses by itself, whatever was lost before it. All layers run at once.
enum class Part : uint8_t { kBoth, kWeights, kActivations };
struct IsolatedLayers {
  std::string file;
  std::vector<std::string> outputs[3];  // by Part, then by Plan::layers; empty: nothing to lose
};
Result<IsolatedLayers> build_isolated(const PreparedModel& model, const Plan& plan,
                                      const Quantization& quantization);

}  // namespace plumb::quant
