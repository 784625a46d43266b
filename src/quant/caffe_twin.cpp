// SPDX-License-Identifier: Apache-2.0
#include "quant/caffe_twin.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "graph/caffe_weights.h"

namespace plumb::quant {
namespace {

// Blobs of each layer, in order.
using BlobsOfLayers = std::map<std::string, std::vector<std::vector<float>>, std::less<>>;

BlobsOfLayers blobs_of(const graph::ModelContent& content) {
  BlobsOfLayers blobs;
  for (size_t i = 0; i < content.operators.size(); ++i)
    for (const graph::Operand& operand : content.operators[i].operands)
      if (operand.constant)
        blobs[content.graph.operators[i].name].push_back(floats_of(*operand.constant));
  return blobs;
}

// The layer that a node was translated from: the product of an InnerProduct may have a name of its
// own.
std::string_view caffe_name(const BlobsOfLayers& blobs, std::string_view layer) {
  constexpr std::string_view kProduct = "/product";
  if (!blobs.contains(layer) && layer.ends_with(kProduct)) layer.remove_suffix(kProduct.size());
  return layer;
}

// By output channel: what the folded weights are, divided by those that the file has. 1 where
// nothing was folded, and where there is nothing to see.
std::vector<double> factors_of(std::span<const float> folded, std::span<const float> stored,
                               const Channels& channels) {
  const auto count = static_cast<size_t>(channels.count);
  std::vector<double> products(count), squares(count);
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto c = static_cast<size_t>(channels.of(static_cast<int64_t>(i)));
    products[c] += double{folded[i]} * double{stored[i]};
    squares[c] += double{stored[i]} * double{stored[i]};
  }
  for (size_t c = 0; c < count; ++c)
    products[c] = products[c] == 0 || squares[c] == 0 ? 1 : products[c] / squares[c];
  return products;
}

}  // namespace

Result<std::variant<std::string, NoCaffeTwin>> caffe_twin(const std::filesystem::path& prototxt,
                                                          const std::filesystem::path& weights,
                                                          const Lab& float_lab, const Lab& lab,
                                                          const Quantization& made) {
  using Twin = std::variant<std::string, NoCaffeTwin>;
  if (lab.prepared().model.graph.nodes.size() != float_lab.prepared().model.graph.nodes.size())
    return Twin(NoCaffeTwin{"smoothing has added operators that the network does not have"});
  auto path = weights.empty() ? graph::find_caffe_weights(prototxt) : weights;
  if (!path) return path.error();
  auto content = graph::load_content(prototxt, *path);
  if (!content) return content.error();
  const BlobsOfLayers blobs = blobs_of(*content);
  graph::CaffeBlobValues values;
  for (size_t i = 0; i < lab.plan().layers.size(); ++i) {
    const Layer& layer = lab.plan().layers[i];
    const std::string name(caffe_name(blobs, layer.name));
    const auto found = blobs.find(name);
    const LayerValues &before = float_lab.values()[i], &after = made.values[i];
    if (!layer.weight || found == blobs.end() || found->second[0].size() != before.weights.size())
      continue;
    const Channels channels = channels_of(layer.weight->shape, layer.weight->axis);
    const auto factors = factors_of(before.weights, found->second[0], channels);
    std::vector<float> rounded = made.weights[i] ? made.weights[i]->numbers() : after.weights;
    for (size_t k = 0; k < rounded.size(); ++k)
      rounded[k] = static_cast<float>(
          rounded[k] / factors[static_cast<size_t>(channels.of(static_cast<int64_t>(k)))]);
    values[{name, 0}] = std::move(rounded);
    if (after.bias == before.bias) continue;
    if (found->second.size() < 2 || found->second[1].size() != after.bias.size())
      return Twin(NoCaffeTwin{fmt::format("{} has no bias that a repair could change", name)});
    std::vector<float> bias = found->second[1];
    for (size_t c = 0; c < bias.size(); ++c) {
      const double factor = factors.size() == bias.size() ? factors[c] : 1;
      bias[c] += static_cast<float>((double{after.bias[c]} - double{before.bias[c]}) / factor);
    }
    values[{name, 1}] = std::move(bias);
  }
  auto file = MappedFile::open(path->string());
  if (!file) return file.error();
  auto written = graph::with_blobs(file->bytes(), values);
  if (!written) return std::move(written.error()).in(path->string());
  return Twin(std::move(*written));
}

}  // namespace plumb::quant
