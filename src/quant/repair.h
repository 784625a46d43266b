// SPDX-License-Identifier: Apache-2.0
//
// What can be done for a model that loses too much, without training it: weights of neighbouring
// layers are balanced, outliers of activations are moved into weights, and the mean error of each
// channel is taken out of the bias. The float model computes the same after the first two.
#pragma once

#include "quant/trial.h"

namespace plumb::quant {

// Cross-layer equalization: where two layers follow each other with nothing between that would not
// commute with a positive factor (Relu, pooling, PRelu), each channel between them is scaled so
// that its weights are equally large on both sides. How many pairs there are; `values` are changed.
size_t equalize(const PreparedModel& model, const Plan& plan, std::vector<LayerValues>& values,
                int rounds = 10);

// Largest magnitudes of each channel that a layer of weights reads, by layer; empty: not seen.
using InputMagnitudes = std::vector<std::vector<double>>;
Result<InputMagnitudes> input_magnitudes(const Lab& lab, Trials& samples, RunContext& context);

// The model with a Mul before each MatMul and Gemm that divides channel c by f = max|x|^strength /
// max|w|^(1-strength), and weights that undo it. How many layers were smoothed.
struct Smoothed {
  std::string file;  // ONNX
  size_t layers = 0;
};
Result<Smoothed> smooth(const Lab& lab, const InputMagnitudes& magnitudes, double strength);

// Bias correction: in order of execution the mean error of each output channel behind the layer's
// activation, over all samples and places, is taken from the layer's bias; the next layer sees what
// that changed. `values` of `made` are changed, and its weights made anew.
Result<void> correct_biases(const Lab& lab, Trials& samples, const Settings& settings,
                            Quantization& made, RunContext& context);

}  // namespace plumb::quant
