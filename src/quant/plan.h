// SPDX-License-Identifier: Apache-2.0
//
// Where a model is quantized: which operators make a layer, and which tensors get a grid of their
// own. Rules in docs/quantization.md. What the grids are is not known here (see calibrate.h), nor
// in which types they are (see quantization.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/record_tensors.h"
#include "quant/observer.h"
#include "quant/prepared_model.h"
#include "quant/range_table.h"

namespace plumb::quant {

struct PlanOptions {
  bool quantize_outputs = false;  // else outputs and what only rearranges or pools before them
                                  // stay float
  bool align_concat = true;       // what is joined has one grid
  std::shared_ptr<const RangeTable> ranges = {};  // that others found
};

// The weights of a layer, in the order of the model.
struct LayerWeight {
  size_t input = 1;            // place among the inputs of the node
  std::optional<size_t> bias;  // likewise; nullopt: it has none
  Shape shape;
  int64_t axis = 0;             // of output channels
  bool is_shared_bias = false;  // its bias is not one number for each output channel
};

// An operator that computes, with those that are one with it (a Relu behind a convolution).
struct Layer {
  std::string name;  // as users know it
  std::string type;
  size_t node = 0;            // place in the model's nodes
  std::vector<size_t> fused;  // the others, in order
  std::optional<LayerWeight> weight;
  std::vector<size_t> inputs;  // tensors it reads: places in Plan::quantizers, each once
  std::optional<size_t> output;
  std::string output_tensor;
  bool is_tail = false;  // between the last computation and an output of the model
};

// Tensors that have one grid: one that is computed, and what others make of it without computing.
struct Quantizer {
  std::vector<std::string> tensors;          // that are rounded: computed, or fed to the model
  std::vector<std::string> passed;           // the same numbers, moved about
  std::vector<size_t> producers, consumers;  // places in Plan::layers
  std::optional<Range> fixed;                // by the nature of what gives it
  bool is_tail = false;                      // stays float
  std::optional<TableRange> given = {};      // by a table, which decides

  const std::string& name() const { return tensors.front(); }
  // Whether calibration looks at it: what has a range by nature needs no look.
  bool is_observed() const { return !is_tail && (given || !fixed); }
};

struct Plan {
  std::vector<Layer> layers;            // in order of execution
  std::vector<Quantizer> quantizers;    // in order of their first tensor
  std::vector<std::string> left_float;  // operators that are not quantized, with their types

  std::optional<size_t> find_layer(std::string_view name) const;
};

// `types` are the element types of the model's tensors.
Plan make_plan(const PreparedModel& model, const engine::InferredTypes& types,
               const PlanOptions& options);

// All tensors at the surface of a model that nodes give.
std::vector<std::string> tensors_of(const graph::OnnxModel& model);

}  // namespace plumb::quant
