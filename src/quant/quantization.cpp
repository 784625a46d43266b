// SPDX-License-Identifier: Apache-2.0
#include "quant/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/parallel.h"

namespace plumb::quant {
namespace {

Scheme activation_scheme(DType dtype, const Settings& settings) {
  const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16;
  return {dtype, is_signed && settings.is_symmetric, false, settings.is_power_of_two};
}

Scheme weight_scheme(DType dtype, const Settings& settings) {
  return {dtype, true, settings.weights_are_restricted, settings.is_power_of_two,
          settings.weights_are_reduced};
}

std::vector<Grid> weight_grids(std::span<const float> values, const Channels& channels,
                               const Scheme& scheme, const Observer& observer) {
  std::vector<Grid> grids;
  if (observer.method == Method::kMinMax) {
    for (const Range range : ranges_of(values, channels)) grids.push_back(grid_of(range, scheme));
    return grids;
  }
  std::vector<float> own;
  for (int64_t c = 0; c < channels.count; ++c) {
    own.clear();
    for (size_t i = 0; i < values.size(); ++i)
      if (channels.of(static_cast<int64_t>(i)) == c) own.push_back(values[i]);
    grids.push_back(grid_of(range_of(own, scheme, observer), scheme));
  }
  return grids;
}

// What clipping takes from the largest weights makes all that a layer gives smaller, and that adds
// up from layer to layer: a third is lost after eighteen layers of 4 bits. The scale of each
// channel grows until integers and weights have the same size along the weights, where that costs
// less than not to clip at all.
void restore_size(std::span<const float> values, const Scheme& scheme, QuantizedTensor& made) {
  std::vector<double> squares(made.grids.size()), products(squares), own(squares);
  const std::vector<float> numbers = made.numbers();
  const auto channel = [&](size_t i) {
    return static_cast<size_t>(made.channels.of(static_cast<int64_t>(i)));
  };
  for (size_t i = 0; i < values.size(); ++i) {
    squares[channel(i)] += double{values[i]} * values[i];
    products[channel(i)] += double{values[i]} * numbers[i];
    own[channel(i)] += double{numbers[i]} * numbers[i];
  }
  const std::vector<Range> ranges = ranges_of(values, made.channels);
  std::vector<Grid> plain;
  for (const Range range : ranges) plain.push_back(grid_of(range, scheme));
  std::vector<double> plain_noise(made.grids.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = double{plain[channel(i)].rounded(values[i])} - values[i];
    plain_noise[channel(i)] += error * error;
  }
  bool is_plain = false;
  for (size_t c = 0; c < made.grids.size(); ++c) {
    const double gain = products[c] > 0 ? squares[c] / products[c] : 1;
    const double noise = gain * gain * own[c] - 2 * gain * products[c] + squares[c];
    if (noise > plain_noise[c]) {
      made.grids[c] = plain[c];
      is_plain = true;
    }
  }
  if (is_plain) made = quantized(values, made.channels, std::move(made.grids));
  for (size_t c = 0; c < made.grids.size(); ++c)
    if (made.grids[c] != plain[c] && products[c] > 0)
      made.grids[c].scale = static_cast<float>(made.grids[c].scale * squares[c] / products[c]);
}

// A bias is a number of steps of input scale times weight scale. Where that is too many for 32 bits
// the weights of the channel get a larger scale.
void quantize_bias(const LayerValues& values, const Grid& input, QuantizedWeight& made) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  std::vector<Grid>& grids = made.values.grids;
  for (size_t c = 0; c < values.bias.size(); ++c) {
    Grid& grid = grids[grids.size() == 1 ? 0 : c];
    const double steps = std::abs(double{values.bias[c]}) / (double{input.scale} * grid.scale);
    if (!(steps > kMost)) continue;
    grid.scale = static_cast<float>(grid.scale * (steps / kMost) * 1.0001);
    grid.is_constant = false;
    made.widened.push_back(c);
  }
  if (!made.widened.empty())
    made.values = quantized(values.weights, made.values.channels, std::move(grids));
  for (size_t c = 0; c < values.bias.size(); ++c) {
    const Grid& grid = made.values.grids[made.values.grids.size() == 1 ? 0 : c];
    const float scale = input.scale * grid.scale;
    made.bias_scales.push_back(scale);
    made.bias.push_back(static_cast<int32_t>(
        std::clamp(std::nearbyint(values.bias[c] / double{scale}), -kMost, kMost)));
  }
}

QuantizedWeight quantize_weight_blocks(const LayerWeight& layer, const LayerValues& values,
                                       int64_t block) {
  QuantizedWeight made;
  made.dtype = DType::kInt4;
  made.shape = layer.shape;
  made.blocked = quantize_blocks(values.weights, layer.shape[0], layer.shape[1], block);
  made.sqnr_db = sqnr_db(made.numbers(), values.weights);
  return made;
}

}  // namespace

std::span<const NamedScheme> schemes() {
  static const NamedScheme kSchemes[] = {
      {"ort-u8s8",
       "uint8 activations, int8 weights by channel: ONNX Runtime",
       {.precision = {DType::kUint8, DType::kInt8}}},
      {"ax",
       "uint8 activations, int8 weights by tensor: Axera Pulsar",
       {.precision = {DType::kUint8, DType::kInt8}, .per_channel = false}},
      {"ascend-int8",
       "int8 activations with an offset, int8 weights by channel: Ascend AMCT",
       {.precision = {DType::kInt8, DType::kInt8}}},
      {"trt",
       "symmetric int8 activations, int8 weights by channel: TensorRT",
       {.precision = {DType::kInt8, DType::kInt8}, .is_symmetric = true}},
  };
  return kSchemes;
}

std::optional<Precision> precision_from_text(std::string_view text, const Precision& like) {
  if (text == "float") return Precision{std::nullopt, std::nullopt};
  const size_t w = text.find('w');
  if (!text.starts_with("a") || w == text.npos) return std::nullopt;
  const std::string_view a_bits = text.substr(1, w - 1), w_bits = text.substr(w + 1);
  const bool is_signed = like.activations == DType::kInt8 || like.activations == DType::kInt16;
  Precision made;
  if (a_bits == "8")
    made.activations = is_signed ? DType::kInt8 : DType::kUint8;
  else if (a_bits == "16")
    made.activations = is_signed ? DType::kInt16 : DType::kUint16;
  else
    return std::nullopt;
  made.weights = integer_from_text("s" + std::string(w_bits));
  if (!made.weights) return std::nullopt;
  return made;
}

std::string text_of(const Precision& precision) {
  if (precision.is_float()) return "float";
  const auto bits = [](const std::optional<DType>& dtype) {
    return dtype ? std::to_string(bits_of(*dtype)) : "f";
  };
  return fmt::format("a{}w{}", bits(precision.activations), bits(precision.weights));
}

std::vector<LayerValues> values_of(const PreparedModel& model, const Plan& plan) {
  std::vector<LayerValues> all;
  for (const Layer& layer : plan.layers) {
    LayerValues& values = all.emplace_back();
    if (!layer.weight) continue;
    const graph::OnnxNode& node = model.node(layer.node);
    values.weights = floats_of(*model.constant(node, layer.weight->input));
    if (layer.weight->bias) values.bias = floats_of(*model.constant(node, *layer.weight->bias));
  }
  return all;
}

std::vector<std::optional<DType>> activation_types(const Plan& plan,
                                                   std::span<const Precision> precisions) {
  std::vector<std::optional<DType>> types;
  for (const Quantizer& quantizer : plan.quantizers) {
    std::optional<DType>& type = types.emplace_back();
    if (quantizer.is_tail || quantizer.tensors.empty()) continue;
    for (const auto* layers : {&quantizer.producers, &quantizer.consumers})
      for (const size_t layer : *layers) {
        const auto& wanted = precisions[layer].activations;
        if (wanted && !plan.layers[layer].is_tail && (!type || bits_of(*wanted) > bits_of(*type)))
          type = wanted;
      }
  }
  return types;
}

QuantizedWeight quantize_weight(const LayerWeight& layer, const LayerValues& values, DType dtype,
                                const std::optional<ActivationGrid>& input,
                                const Settings& settings) {
  QuantizedWeight made;
  made.dtype = dtype;
  made.shape = layer.shape;
  if (settings.per_channel) made.axis = layer.axis;
  const Channels channels = channels_of(layer.shape, made.axis);
  made.values = quantized(values.weights, channels,
                          weight_grids(values.weights, channels, weight_scheme(dtype, settings),
                                       settings.weight_observer));
  if (settings.weight_observer.method != Method::kMinMax && !settings.is_power_of_two)
    restore_size(values.weights, weight_scheme(dtype, settings), made.values);
  if (!values.bias.empty() && input && settings.has_integer_bias && !layer.is_shared_bias &&
      (made.values.grids.size() == 1 || made.values.grids.size() == values.bias.size()))
    quantize_bias(values, input->grid, made);
  made.sqnr_db = sqnr_db(made.values.numbers(), values.weights);
  return made;
}

Quantization quantize(const Plan& plan, std::span<const Observation> seen,
                      std::vector<LayerValues> values, std::vector<Precision> precisions,
                      const Settings& settings) {
  Quantization made;
  made.values = std::move(values);
  made.precisions = std::move(precisions);
  const auto types = activation_types(plan, made.precisions);
  made.activations.resize(plan.quantizers.size());
  for_each_index(types.size(), [&](size_t i) {
    if (!types[i]) return;
    const Scheme scheme = activation_scheme(*types[i], settings);
    ActivationGrid& activation = made.activations[i].emplace();
    activation.dtype = *types[i];
    if (plan.quantizers[i].given) {
      activation.range = range_from(*plan.quantizers[i].given, seen[i]);
    } else if (plan.quantizers[i].fixed) {
      activation.range = *plan.quantizers[i].fixed;
    } else {
      const double margin = settings.margin.value_or(bits_of(*types[i]) == 16 ? 2 : 1);
      activation.range = range_of(seen[i], scheme, settings.observer);
      activation.range.lo *= margin;
      activation.range.hi *= margin;
    }
    activation.grid = grid_of(activation.range, scheme);
  });
  made.weights.resize(plan.layers.size());
  for_each_index(plan.layers.size(), [&](size_t i) {
    const Layer& layer = plan.layers[i];
    if (!layer.weight || !made.precisions[i].weights) return;
    if (settings.block) {
      if (layer.type == "MatMul" && layer.weight->shape.size() == 2)
        made.weights[i] = quantize_weight_blocks(*layer.weight, made.values[i], *settings.block);
      return;
    }
    std::optional<ActivationGrid> input;
    if (layer.inputs.size() == 1) input = made.activations[layer.inputs[0]];
    made.weights[i] = quantize_weight(*layer.weight, made.values[i], *made.precisions[i].weights,
                                      input, settings);
  });
  return made;
}

BlockedWeight quantize_blocks(std::span<const float> values, int64_t rows, int64_t columns,
                              int64_t block) {
  BlockedWeight made{rows, columns, block, std::vector<int32_t>(values.size()), {}};
  const Scheme scheme{DType::kInt4, true, true};
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t first = 0; first < rows; first += block) {
      const int64_t last = std::min(first + block, rows);
      const auto place = [&](int64_t row) { return static_cast<size_t>(row * columns + column); };
      Range range;
      for (int64_t row = first; row < last; ++row) {
        range.lo = std::min<double>(range.lo, values[place(row)]);
        range.hi = std::max<double>(range.hi, values[place(row)]);
      }
      const Grid grid = grid_of(range, scheme);
      made.scales.push_back(grid.scale);
      for (int64_t row = first; row < last; ++row)
        made.integers[place(row)] = grid.quantized(values[place(row)]);
    }
  return made;
}

std::vector<float> BlockedWeight::numbers() const {
  std::vector<float> made(integers.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const auto place = static_cast<size_t>(row * columns + column);
      made[place] = static_cast<float>(integers[place]) *
                    scales[static_cast<size_t>(column * blocks() + row / block)];
    }
  return made;
}

double sqnr_db(std::span<const float> numbers, std::span<const float> golden) {
  double noise = 0, signal = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double error = double{numbers[i]} - golden[i];
    noise += error * error;
    signal += double{golden[i]} * golden[i];
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

}  // namespace plumb::quant
