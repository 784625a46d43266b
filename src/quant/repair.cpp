// SPDX-License-Identifier: Apache-2.0
#include "quant/repair.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/onnx_build.h"
#include "graph/onnx_edit.h"

namespace plumb::quant {
namespace {

using graph::OnnxNode;

// Which weights belong to a channel that a layer reads.
struct InputChannels {
  Shape shape;
  int64_t axis = 1;     // of input channels
  int64_t groups = 1;   // of a convolution: channels are split among output channels
  int64_t outputs = 0;  // output channels

  int64_t count() const { return shape[static_cast<size_t>(axis)] * groups; }
  // The input channel of a weight.
  int64_t of(int64_t element) const {
    const Channels channels = channels_of(shape, axis);
    const int64_t own = channels.of(element);
    if (groups == 1) return own;
    const int64_t output = element / (channels.count * channels.inner);  // axis is 1
    return output / (outputs / groups) * channels.count + own;
  }
};

std::optional<InputChannels> input_channels_of(const PreparedModel& model, const Layer& layer) {
  if (!layer.weight || layer.type == "ConvTranspose") return std::nullopt;
  InputChannels made;
  made.shape = layer.weight->shape;
  const int64_t rank = std::ssize(made.shape);
  if (layer.type == "Conv") {
    made.groups = model.number_of(model.node(layer.node), "group", 1);
    made.outputs = made.shape[0];
    if (made.groups < 1 || made.outputs % made.groups != 0) return std::nullopt;
  } else if (layer.type == "Gemm") {
    made.axis = 1 - layer.weight->axis;
    if (model.number_of(model.node(layer.node), "transA", 0) != 0) return std::nullopt;
  } else {
    if (rank != 2) return std::nullopt;
    made.axis = 0;
  }
  return made;
}

// The layer that alone reads what a layer gives, through nothing that stands in the way.
std::optional<size_t> follower_of(const PreparedModel& model, const Plan& plan, size_t first) {
  const Layer& layer = plan.layers[first];
  for (const size_t fused : layer.fused)
    if (model.node(fused).type != "Relu") return std::nullopt;  // a Clip has an upper end
  std::string tensor = layer.output_tensor;
  while (true) {
    if (is_model_output(model.model, tensor)) return std::nullopt;
    const auto readers = graph::readers_of(model.model, tensor);
    if (readers.size() != 1 || readers[0].input != size_t{0}) return std::nullopt;
    const OnnxNode& node = model.node(readers[0].node);
    for (size_t i = 0; i < plan.layers.size(); ++i)
      if (plan.layers[i].node == readers[0].node && plan.layers[i].weight &&
          (plan.layers[i].type == "Conv" || plan.layers[i].type == "Gemm"))
        return i;
    constexpr std::string_view kBetween[] = {"Relu",     "LeakyRelu",    "PRelu",
                                             "MaxPool",  "AveragePool",  "GlobalAveragePool",
                                             "Identity", "GlobalMaxPool"};
    if (!node.is_standard() ||
        std::find(std::begin(kBetween), std::end(kBetween), node.type) == std::end(kBetween))
      return std::nullopt;
    tensor = node.outputs[0];
  }
}

std::vector<double> largest_by_channel(const std::vector<float>& values, int64_t count,
                                       const std::function<int64_t(int64_t)>& channel) {
  std::vector<double> largest(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    double& own = largest[static_cast<size_t>(channel(static_cast<int64_t>(i)))];
    own = std::max(own, std::abs(double{values[i]}));
  }
  return largest;
}

struct Pair {
  size_t first = 0, second = 0;
  Channels given;      // of the first layer's weights
  InputChannels read;  // of the second's
};

// How far the weights moved, relative to what they were.
double balance(const Pair& pair, LayerValues& first, LayerValues& second) {
  const auto given = [&](int64_t element) { return pair.given.of(element); };
  const auto read = [&](int64_t element) { return pair.read.of(element); };
  const auto r1 = largest_by_channel(first.weights, pair.given.count, given);
  const auto r2 = largest_by_channel(second.weights, pair.read.count(), read);
  std::vector<double> factor(r1.size(), 1);
  double moved = 0;
  for (size_t c = 0; c < factor.size(); ++c) {
    if (r1[c] > 0 && r2[c] > 0) factor[c] = std::clamp(std::sqrt(r2[c] / r1[c]), 0.1, 10.0);
    moved = std::max(moved, std::abs(factor[c] - 1));
  }
  for (size_t i = 0; i < first.weights.size(); ++i)
    first.weights[i] = static_cast<float>(
        first.weights[i] * factor[static_cast<size_t>(given(static_cast<int64_t>(i)))]);
  for (size_t c = 0; c < first.bias.size(); ++c)
    first.bias[c] = static_cast<float>(first.bias[c] * factor[c]);
  for (size_t i = 0; i < second.weights.size(); ++i)
    second.weights[i] = static_cast<float>(
        second.weights[i] / factor[static_cast<size_t>(read(static_cast<int64_t>(i)))]);
  first.is_changed = second.is_changed = true;
  return moved;
}

}  // namespace

size_t equalize(const PreparedModel& model, const Plan& plan, std::vector<LayerValues>& values,
                int rounds) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    if (!layer.weight || layer.type != "Conv") continue;
    const auto second = follower_of(model, plan, i);
    if (!second) continue;
    const auto read = input_channels_of(model, plan.layers[*second]);
    const Channels given = channels_of(layer.weight->shape, layer.weight->axis);
    const bool has_fit = values[i].bias.empty() || std::ssize(values[i].bias) == given.count;
    if (read && read->count() == given.count && has_fit)
      pairs.push_back({i, *second, given, *read});
  }
  for (int round = 0; round < rounds; ++round) {
    double moved = 0;
    for (const Pair& pair : pairs)
      moved = std::max(moved, balance(pair, values[pair.first], values[pair.second]));
    if (moved < 1e-4) break;
  }
  return pairs.size();
}

Result<InputMagnitudes> input_magnitudes(const Lab& lab, Trials& samples, RunContext& context) {
  const Plan& plan = lab.plan();
  InputMagnitudes made(plan.layers.size());
  std::vector<std::string> tensors;
  std::map<std::string, std::vector<size_t>, std::less<>> layers_of;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    if (!layer.weight || (layer.type != "MatMul" && layer.type != "Gemm")) continue;
    const std::string input(lab.prepared().node(layer.node).inputs[0]);
    auto& layers = layers_of[input];
    if (layers.empty()) tensors.push_back(input);
    layers.push_back(i);
  }
  if (tensors.empty()) return made;
  auto ran = samples.run(
      lab.prepared().file, tensors, [](size_t) {},
      [&](const std::string& tensor, std::span<const float> values, const Shape& shape) {
        if (shape.empty() || shape.back() <= 0) return;
        const auto count = static_cast<size_t>(shape.back());
        for (const size_t layer : layers_of[tensor]) {
          made[layer].resize(count);
          for (size_t i = 0; i < values.size(); ++i)
            made[layer][i % count] = std::max(made[layer][i % count], std::abs(double{values[i]}));
        }
      },
      context);
  if (!ran) return ran.error();
  return made;
}

Result<Smoothed> smooth(const Lab& lab, const InputMagnitudes& magnitudes, double strength) {
  const Plan& plan = lab.plan();
  Smoothed made;
  graph::OnnxModel model = lab.prepared().model;
  graph::UniqueNames names = graph::names_in(model.graph);
  const auto add_weight = [&](const std::string& name, const Shape& shape,
                              const std::vector<float>& values) -> Result<std::string> {
    std::string claimed = names.claim(name);
    auto weight = graph::make_weight(model, claimed,
                                     {DType::kFloat32, shape, std::as_bytes(std::span(values))});
    if (!weight) return weight.error();
    model.graph.initializers.push_back(std::move(*weight));
    return claimed;
  };
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    const auto read =
        magnitudes[i].empty() ? std::nullopt : input_channels_of(lab.prepared(), layer);
    if (!read || read->count() != std::ssize(magnitudes[i])) continue;
    const auto channel = [&](int64_t element) { return read->of(element); };
    std::vector<float> weights = lab.values()[i].weights;
    const auto largest = largest_by_channel(weights, read->count(), channel);
    std::vector<float> divisors, inverse;
    for (size_t c = 0; c < largest.size(); ++c) {
      double factor = 1;
      if (largest[c] > 0 && magnitudes[i][c] > 0)
        factor = std::pow(magnitudes[i][c], strength) / std::pow(largest[c], 1 - strength);
      divisors.push_back(static_cast<float>(std::clamp(factor, 1e-5, 1e5)));
      inverse.push_back(1 / divisors.back());
    }
    for (size_t k = 0; k < weights.size(); ++k)
      weights[k] *= divisors[static_cast<size_t>(channel(static_cast<int64_t>(k)))];
    const OnnxNode& node = lab.prepared().node(layer.node);
    const std::string input(node.inputs[0]), given = names.claim(node.name + "_smoothed");
    auto factors = add_weight(node.name + "_smoothing", {std::ssize(inverse)}, inverse);
    if (!factors) return factors.error();
    auto scaled = add_weight(node.name + "_weight_smoothed", layer.weight->shape, weights);
    if (!scaled) return scaled.error();
    auto mul = graph::make_node(model, {.type = "Mul",
                                        .inputs = {input, *factors},
                                        .outputs = {given},
                                        .attributes = {},
                                        .copied = {},
                                        .name = names.claim(node.name + "_smooth"),
                                        .domain = {}});
    if (!mul) return mul.error();
    auto place = graph::find_node(model, node.name);
    if (!place) return place.error();
    const graph::OnnxReader weight_reader{*place, layer.weight->input}, reader{*place, 0};
    if (auto done = graph::rewire(model, std::span(&weight_reader, 1),
                                  model.graph.nodes[*place].inputs[layer.weight->input], *scaled);
        !done)
      return done.error();
    std::vector<OnnxNode> nodes{std::move(*mul)};
    auto inserted =
        graph::insert_nodes(model, std::move(nodes), input, std::span(&reader, 1), given);
    if (!inserted) return inserted.error();
    ++made.layers;
  }
  drop_unread(model);
  made.file = graph::write_onnx(model);
  return made;
}

namespace {

// Sums of each output channel over all samples, of what a layer gives.
struct ChannelMeans {
  std::vector<double> sums;
  std::vector<int64_t> positive;  // numbers
  int64_t count = 0;              // of each channel

  void add(std::span<const float> values, const Shape& shape, int64_t axis) {
    const Channels channels = channels_of(shape, axis);
    if (sums.empty()) {
      sums.resize(static_cast<size_t>(channels.count));
      positive.resize(sums.size());
    }
    if (std::ssize(sums) != channels.count) return;
    size_t at = 0;
    for (int64_t outer = 0; outer < channels.outer; ++outer)
      for (size_t c = 0; c < sums.size(); ++c)
        for (int64_t i = 0; i < channels.inner; ++i, ++at) {
          sums[c] += values[at];
          positive[c] += values[at] > 0;
        }
    count += channels.outer * channels.inner;
  }
  double mean(size_t channel) const {
    return count == 0 ? 0 : sums[channel] / static_cast<double>(count);
  }
  // By how much the mean grows with the bias: behind a Relu only what is positive grows. Of a
  // channel that is almost always 0 nothing is known beyond that.
  double slope(size_t channel, bool is_relu) const {
    constexpr double kLeast = 0.1;
    if (!is_relu || count == 0) return 1;
    return std::max(kLeast, static_cast<double>(positive[channel]) / static_cast<double>(count));
  }
};

int64_t channel_axis(const Layer& layer, const Shape& shape) {
  return layer.type == "MatMul" ? std::ssize(shape) - 1 : 1;
}

}  // namespace

Result<void> correct_biases(const Lab& lab, Trials& samples, const Settings& settings,
                            Quantization& made, RunContext& context) {
  const Plan& plan = lab.plan();
  const auto is_corrected = [&](size_t i) {
    const Layer& layer = plan.layers[i];
    return made.weights[i] && (layer.type == "Conv" || layer.type == "Gemm") &&
           !layer.weight->is_shared_bias;
  };
  // Behind the activation: a Relu makes a shift of what is noise around zero before it, so means
  // that agree before it do not agree for the layer that reads them.
  const auto tensor_of = [&](size_t i) -> const std::string& {
    return plan.layers[i].output_tensor;
  };
  std::vector<std::string> tensors;
  std::map<std::string, size_t, std::less<>> layer_of;
  for (size_t i = 0; i < plan.layers.size(); ++i)
    if (is_corrected(i)) {
      tensors.push_back(tensor_of(i));
      layer_of[tensors.back()] = i;
    }
  std::vector<ChannelMeans> golden(plan.layers.size());
  const auto measure = [&](const std::string& onnx, std::span<const std::string> wanted,
                           std::vector<ChannelMeans>& into) {
    return samples.run(
        onnx, wanted, [](size_t) {},
        [&](const std::string& tensor, std::span<const float> values, const Shape& shape) {
          if (const auto found = layer_of.find(tensor); found != layer_of.end())
            into[found->second].add(values, shape, channel_axis(plan.layers[found->second], shape));
        },
        context);
  };
  if (auto ran = measure(lab.prepared().file, tensors, golden); !ran) return ran;
  // Newton's steps: the second is for the numbers that the first has moved across 0.
  const auto correct = [&](size_t i) -> Result<void> {
    const Layer& layer = plan.layers[i];
    auto built = build_quantized(lab.prepared(), plan, made, Form::kFakeQuant);
    if (!built) return built.error();
    std::vector<ChannelMeans> own(plan.layers.size());
    if (auto ran = measure(built->file, std::span(&tensor_of(i), 1), own); !ran) return ran;
    if (own[i].sums.size() != golden[i].sums.size() || own[i].count == 0) return {};
    LayerValues& values = made.values[i];
    if (values.bias.empty()) values.bias.resize(own[i].sums.size());
    if (values.bias.size() != own[i].sums.size()) return {};
    const bool is_relu = std::any_of(layer.fused.begin(), layer.fused.end(), [&](size_t node) {
      return lab.prepared().node(node).type == "Relu";
    });
    for (size_t c = 0; c < values.bias.size(); ++c)
      values.bias[c] +=
          static_cast<float>((golden[i].mean(c) - own[i].mean(c)) / own[i].slope(c, is_relu));
    values.is_changed = true;
    std::optional<ActivationGrid> input;
    if (layer.inputs.size() == 1) input = made.activations[layer.inputs[0]];
    made.weights[i] =
        quantize_weight(*layer.weight, values, *made.precisions[i].weights, input, settings);
    return {};
  };
  for (size_t i = 0; i < plan.layers.size(); ++i)
    for (int step = 0; step < 2 && is_corrected(i); ++step)
      if (auto done = correct(i); !done) return done;
  return {};
}

}  // namespace plumb::quant
