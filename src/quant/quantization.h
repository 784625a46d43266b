// SPDX-License-Identifier: Apache-2.0
//
// How a model is quantized: a type for each layer, a grid for each tensor, integers for the
// weights. Made from a plan and what calibration saw; models are built from it (see build.h).
#pragma once

#include "quant/plan.h"

namespace plumb::quant {

// What a layer computes in; nullopt: float.
struct Precision {
  std::optional<DType> activations = DType::kUint8, weights = DType::kInt8;

  bool is_float() const { return !activations && !weights; }
  bool operator==(const Precision&) const = default;
};
// "a8w8", "a16w8", "a16w16", "a8w4", "float": activations and weights as in `like`.
std::optional<Precision> precision_from_text(std::string_view text, const Precision& like);
std::string text_of(const Precision& precision);

struct Settings {
  Precision precision;                 // of layers that are not named below
  bool is_symmetric = false;           // activations of signed types; unsigned never are
  bool per_channel = true;             // weights
  bool weights_are_restricted = true;  // -127..127
  bool weights_are_reduced = false;    // of 8 bits: -64..64, so that no sum of two products with
                                       // uint8 exceeds 16 bits
  bool is_power_of_two = false;
  std::optional<int64_t> block = {};  // weights of MatMul alone are rounded, in blocks of so many
  bool has_integer_bias = true;       // int32, else float
  Observer observer = {};             // of activations
  Observer weight_observer = {};
  std::optional<double> margin = {};  // ranges are this much wider; nullopt: 1, and 2 for 16 bits
};

// Settings by the name of what they are made for.
struct NamedScheme {
  std::string_view name, summary;
  Settings settings;
};
std::span<const NamedScheme> schemes();

struct ActivationGrid {
  Grid grid;
  DType dtype = DType::kUint8;
  Range range;  // that was asked for
};

// Weights of a MatMul, K x N, in blocks of rows that have a scale of their own: integers -8..7.
struct BlockedWeight {
  int64_t rows = 0, columns = 0, block = 32;
  std::vector<int32_t> integers;  // row-major
  std::vector<float> scales;      // by column, then by block of it

  int64_t blocks() const { return (rows + block - 1) / block; }
  std::vector<float> numbers() const;
};
BlockedWeight quantize_blocks(std::span<const float> values, int64_t rows, int64_t columns,
                              int64_t block);

struct QuantizedWeight {
  DType dtype = DType::kInt8;
  Shape shape;
  std::optional<int64_t> axis;  // of channels with their own scale
  QuantizedTensor values;
  std::optional<BlockedWeight> blocked;  // then there are no `values`
  double sqnr_db = 0;                    // infinite: nothing was lost
  // One for each output channel; empty: the bias stays what it is.
  std::vector<int32_t> bias;
  std::vector<float> bias_scales;
  std::vector<float> numbers() const { return blocked ? blocked->numbers() : values.numbers(); }
  std::vector<size_t> widened;  // channels whose scale had to grow, for the bias to fit 32 bits
};

// The numbers that a layer really has, which are those of the model unless they were changed
// (equalized, corrected).
struct LayerValues {
  std::vector<float> weights, bias;  // empty: none
  bool is_changed = false;
};

struct Quantization {
  std::vector<std::optional<ActivationGrid>> activations;  // by Plan::quantizers
  std::vector<std::optional<QuantizedWeight>> weights;     // by Plan::layers
  std::vector<LayerValues> values;                         // likewise
  std::vector<Precision> precisions;                       // likewise
};

std::vector<LayerValues> values_of(const PreparedModel& model, const Plan& plan);

// The type of each tensor: the widest that a layer which gives or reads it asks for; nullopt where
// all of them are float, or where it belongs to the tail.
std::vector<std::optional<DType>> activation_types(const Plan& plan,
                                                   std::span<const Precision> precisions);

// `seen` by Plan::quantizers.
Quantization quantize(const Plan& plan, std::span<const Observation> seen,
                      std::vector<LayerValues> values, std::vector<Precision> precisions,
                      const Settings& settings);

// One layer's weights, with the grid of what it reads, if it has one, for the bias.
QuantizedWeight quantize_weight(const LayerWeight& layer, const LayerValues& values, DType dtype,
                                const std::optional<ActivationGrid>& input,
                                const Settings& settings);

// 10 log10 of signal by noise; infinite if there is no noise.
double sqnr_db(std::span<const float> numbers, std::span<const float> golden);

}  // namespace plumb::quant
