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

// ONNX; weights, biases and tensors that have no grid stay as they are.
Result<std::string> build_quantized(const PreparedModel& model, const Plan& plan,
                                    const Quantization& quantization, Form form);

}  // namespace plumb::quant
